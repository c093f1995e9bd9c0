//! A server that answers each connection with the next of some texts, and keeps what it was asked.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(super) struct Script {
    pub url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

/// An answer with this status, further header lines (each ended by CRLF) and body.
pub(super) fn answer(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}")
}

impl Script {
    /// Answers in this order; an empty text is no answer at all.
    pub(super) fn new(answers: impl IntoIterator<Item = String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/path", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (answers, heard) = (answers.into_iter().collect::<Vec<_>>(), asked.clone());
        std::thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
                let mut request = Vec::new();
                let mut bytes = [0; 4_096];
                while let Ok(read @ 1..) = stream.read(&mut bytes) {
                    request.extend_from_slice(&bytes[..read]);
                    let text = String::from_utf8_lossy(&request);
                    let whole = match text.split_once("\r\n\r\n") {
                        Some((head, body)) if head.contains("content-length: 5") => body.len() == 5,
                        Some(_) => true,
                        None => false,
                    };
                    if whole {
                        break;
                    }
                }
                heard.lock().unwrap().push(String::from_utf8_lossy(&request).into_owned());
                if answer.is_empty() {
                    std::thread::sleep(Duration::from_secs(600));
                }
                // A client that has gone away is what some tests are about.
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Self { url, asked }
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}
