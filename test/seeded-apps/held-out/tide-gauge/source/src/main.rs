mod feed;
mod frame;
mod tide;

use std::time::Duration;

const STATIONS: [&str; 4] = ["leith", "aberdeen", "wick", "lerwick"];

#[tokio::main]
async fn main() {
    println!("level=info target=main msg=\"starting\" stations={}", STATIONS.len());
    let watchers = STATIONS.map(|station| tokio::spawn(watch(station)));
    for watcher in watchers {
        let _ = watcher.await;
    }
}

/// Keeps a station's reader alive: the buoys' modems come and go.
async fn watch(station: &'static str) {
    loop {
        match tokio::spawn(feed::read(station)).await {
            Ok(Ok(())) => println!("level=info target=main msg=\"feed closed\" station={station}"),
            Ok(Err(error)) => {
                println!("level=warn target=main msg=\"feed lost\" station={station} error=\"{error}\"")
            }
            Err(ended) => {
                println!("level=error target=main msg=\"reader ended\" station={station} error=\"{ended}\"")
            }
        }
        tokio::time::sleep(Duration::from_secs(15)).await;
    }
}
