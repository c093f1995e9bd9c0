//! The page of metrics, taken apart.

use std::collections::BTreeMap;

use convoke::testing::{TestApp, TestServer};

/// The samples of a page by their name and labels, as they stand there.
pub(crate) struct Samples(BTreeMap<String, f64>);

impl Samples {
    /// Scrapes a server, and checks the form of every line on the way.
    pub(crate) fn scrape(app: &TestApp, server: &TestServer<'_>) -> Self {
        let url = format!("http://{}/metrics", server.address());
        let page = app.block_on(async {
            let response = reqwest::get(url).await.unwrap();
            assert_eq!(response.status(), 200);
            assert_eq!(response.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
            response.text().await.unwrap()
        });
        let mut samples = BTreeMap::new();
        let mut family = String::new();
        for line in page.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                family = rest.split(' ').next().unwrap().to_owned();
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                assert!(rest.starts_with(&family), "every family has its help: {line}");
            } else {
                assert!(line.starts_with(&family), "every sample must follow its family: {line}");
                let (name, value) = line.rsplit_once(' ').unwrap();
                let former = samples.insert(name.to_owned(), value.parse().unwrap());
                assert_eq!(former, None, "twice: {name}");
            }
        }
        Self(samples)
    }

    /// The value of one; none if it is not there.
    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// The value of one that must be there.
    #[track_caller]
    pub(crate) fn value(&self, name: &str) -> f64 {
        self.get(name).unwrap_or_else(|| panic!("no {name} among {:#?}", self.0.keys()))
    }

    /// The names that contain a text.
    pub(crate) fn names<'a>(&'a self, part: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.keys().map(String::as_str).filter(move |name| name.contains(part))
    }
}
