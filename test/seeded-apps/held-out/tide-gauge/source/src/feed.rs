use crate::{frame::Frame, tide::Tide};
use std::io;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;

/// Reads a station's frames until it hangs up. A modem that was out of reach sends what it stored, newest first.
pub async fn read(station: &'static str) -> io::Result<()> {
    let stream = TcpStream::connect((format!("{station}.buoys.internal"), 7001)).await?;
    println!("level=info target=feed msg=\"connected\" station={station}");
    let mut lines = BufReader::new(stream).lines();
    let mut tide = Tide::new();
    while let Some(line) = lines.next_line().await? {
        match Frame::parse(&line) {
            Ok(frame) => {
                let change = tide.add(&frame);
                println!(
                    "level=info target=feed msg=\"reading\" station={station} level_mm={} mm_per_hour={}",
                    frame.level_mm, change
                );
            }
            Err(reason) => {
                println!("level=warn target=feed msg=\"frame skipped\" station={station} reason=\"{reason}\"")
            }
        }
    }
    Ok(())
}
