//! The deliverer of a running server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use convoke::webhooks::DeliveryState;

use super::delivery::{add, app, send};
use super::receiver::{Receiver, answer};

fn until(mut done: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it did not happen within a minute");
}

#[test]
fn slow_endpoint_does_not_delay_the_others() {
    let app = app();
    let gate = Arc::new(Mutex::new(()));
    let (closed, waiting) = (gate.lock().unwrap(), gate.clone());
    let slow = Receiver::new(move |_| {
        drop(waiting.lock());
        answer(200, "", "")
    });
    let fast = Receiver::accepting();
    add(&app, &slow.url, &[], None);
    add(&app, &fast.url, &[], None);
    for n in 0..20 {
        send(&app, "order.paid", n);
    }
    let background = app.block_on(async { app.runtime().start_background() });
    until(|| fast.arrived().len() == 20);
    assert!(slow.arrived().len() <= 4, "at most four requests at a time");
    send(&app, "order.paid", 20);
    until(|| fast.arrived().len() == 21);
    // The end of the deliverer waits for the requests that it has sent.
    app.block_on(async { tokio::join!(background.stop(), async { drop(closed) }) });
    let deliveries = app.deliveries();
    let delivered = deliveries.iter().filter(|row| row.state == DeliveryState::Delivered).count();
    assert!((21..=30).contains(&delivered), "{delivered}");
}
