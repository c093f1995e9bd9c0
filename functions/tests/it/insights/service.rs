//! A language model service on a local port: it responds in order and records requests.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// A response.
#[derive(Clone)]
pub(super) struct Answer {
    pub status: u16,
    /// Further header lines, each ended by CRLF.
    pub headers: &'static str,
    pub body: String,
    /// Delay.
    pub after: Duration,
}

/// A chat completion with this content.
pub(super) fn completion(content: &str) -> Answer {
    let body = json!({"choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]});
    Answer { status: 200, headers: "", body: body.to_string(), after: Duration::ZERO }
}

/// Returns insights with this summary, as from a model.
pub(super) fn good(summary: &str) -> Answer {
    let links = json!([{"url": "https://example.org/plan", "title": "The plan"},
        {"url": "https://invented.example", "title": "Made up"}]);
    let recommendation = json!({"type": "follow-up", "content": "Ask Bob for the plan.", "confidence": 0.75});
    let insights = json!({"summary": summary, "actionItems": [
        {"owner": "ada", "task": "write the plan", "due": null, "evidence": "will write the plan"},
        {"owner": "ada", "task": "read the plan", "due": null, "evidence": "nobody said anything like this"},
    ],
        "recommendations": [recommendation], "links": links});
    completion(&insights.to_string())
}

pub(super) fn status(status: u16, headers: &'static str) -> Answer {
    Answer { status, headers, body: "{}".to_owned(), after: Duration::ZERO }
}

pub(super) fn slow(answer: Answer, after: Duration) -> Answer {
    Answer { after, ..answer }
}

/// A request: the lines before the body, in lower case, and the body.
pub(super) type Asked = Arc<Mutex<Vec<(String, Value)>>>;

pub(super) struct Service {
    pub url: String,
    asked: Asked,
}

impl Service {
    /// Responds in this order, and then repeats the last response.
    pub(super) fn new(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Asked::default();
        let heard = asked.clone();
        std::thread::spawn(move || {
            for (index, stream) in listener.incoming().enumerate() {
                let answer = answers[index.min(answers.len() - 1)].clone();
                let heard = heard.clone();
                std::thread::spawn(move || serve(stream.unwrap(), &answer, &heard));
            }
        });
        Self { url, asked }
    }

    pub(super) fn asked(&self) -> Vec<(String, Value)> {
        self.asked.lock().unwrap().clone()
    }

    /// Returns the number of requests.
    pub(super) fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// Waits until this number of requests has arrived, and requires that there are no more. A client that does not wait
    /// for a response may end before the service has read its request.
    #[track_caller]
    pub(super) fn require(&self, count: usize) {
        for _ in 0..6_000 {
            if self.count() >= count {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(self.count(), count);
    }
}

fn serve(mut stream: TcpStream, answer: &Answer, heard: &Asked) {
    heard.lock().unwrap().push(request(&mut stream));
    std::thread::sleep(answer.after);
    let Answer { status, headers, body, .. } = answer;
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n");
    // Some tests are about clients that disconnect.
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

fn request(stream: &mut TcpStream) -> (String, Value) {
    let mut bytes = Vec::new();
    let mut some = [0; 8_192];
    loop {
        let read = stream.read(&mut some).unwrap();
        bytes.extend_from_slice(&some[..read]);
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            if body.len() >= length.trim().parse::<usize>().unwrap() {
                return (head, serde_json::from_str(body).unwrap());
            }
        }
        assert!(read > 0, "the request ends early");
    }
}
