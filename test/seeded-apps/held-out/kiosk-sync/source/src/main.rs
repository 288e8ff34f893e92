mod kiosk;
mod store;

use std::{thread, time::Duration};

fn main() {
    let store = store::Store::open("/var/lib/kiosks");
    loop {
        for kiosk in kiosk::all() {
            match kiosk.fetch() {
                Ok(sales) => {
                    store.keep(&kiosk.name, &sales);
                    println!("INFO kiosk {} synced, {} sales", kiosk.name, sales.len());
                }
                Err(error) => println!("WARN kiosk {} is not reachable: {}", kiosk.name, error),
            }
        }
        thread::sleep(Duration::from_secs(600));
    }
}
