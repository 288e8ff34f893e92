mod lots;

use tracing::{info, warn};

#[tokio::main]
async fn main() {
    loop {
        let worker = tokio::spawn(store());
        if worker.await.is_err() {
            warn!("worker started again");
        }
    }
}

async fn store() {
    while let Some(lot) = lots::next().await {
        lots::print_label(&lot, lot.per_gram());
        info!("lot {} stored", lot.id);
    }
}
