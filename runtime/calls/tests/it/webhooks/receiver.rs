//! A receiver that answers by a rule, and records the requests.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use convoke_calls::signatures::{Key, standard_webhooks};

/// A request that arrived.
#[derive(Clone, Debug)]
pub(crate) struct Arrived {
    head: String,
    pub(crate) body: String,
}

impl Arrived {
    pub(crate) fn header(&self, name: &str) -> &str {
        let field = self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        field.unwrap_or_else(|| panic!("no {name} in {}", self.head))
    }

    /// Verifies the signature with a secret, at the time of the request itself.
    pub(crate) fn is_signed_by(&self, secret: &str) -> bool {
        let [id, at, signature] =
            ["webhook-id", "webhook-timestamp", "webhook-signature"].map(|name| self.header(name));
        let (keys, now_s) = ([Key::standard_webhooks(secret).unwrap()], at.parse().unwrap());
        standard_webhooks::verify(&keys, Some(id), Some(at), Some(signature), self.body.as_bytes(), now_s).is_ok()
    }
}

pub(crate) struct Receiver {
    pub(crate) url: String,
    arrived: Arc<Mutex<Vec<Arrived>>>,
}

/// A response with this status and further header lines, each ended by CRLF.
pub(crate) fn answer(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}")
}

impl Receiver {
    /// Answers request number `n` (from 0) with `respond(n)`. An empty text closes the connection.
    pub(crate) fn new(respond: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hooks", listener.local_addr().unwrap());
        let arrived = Arc::<Mutex<Vec<Arrived>>>::default();
        let (respond, heard) = (Arc::new(respond), arrived.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, respond, heard) = (stream.unwrap(), respond.clone(), heard.clone());
                std::thread::spawn(move || {
                    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
                    let Some(request) = read(&mut stream) else { return };
                    let number = {
                        let mut heard = heard.lock().unwrap();
                        heard.push(request);
                        heard.len() - 1
                    };
                    let _ = stream.write_all(respond(number).as_bytes());
                });
            }
        });
        Self { url, arrived }
    }

    /// A receiver that accepts everything.
    pub(crate) fn accepting() -> Self {
        Self::new(|_| answer(200, "", "ok"))
    }

    pub(crate) fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().unwrap().clone()
    }
}

fn read(stream: &mut std::net::TcpStream) -> Option<Arrived> {
    let (mut request, mut bytes) = (Vec::new(), [0; 4_096]);
    loop {
        let text = String::from_utf8_lossy(&request);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
            if body.len() >= length.parse().ok()? {
                return Some(Arrived { body: body.to_owned(), head: text.split_once("\r\n\r\n")?.0.to_owned() });
            }
        }
        match stream.read(&mut bytes) {
            Ok(read @ 1..) => request.extend_from_slice(&bytes[..read]),
            Ok(0) | Err(_) => return None,
        }
    }
}
