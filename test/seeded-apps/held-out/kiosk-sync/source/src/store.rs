use std::{fs, path::PathBuf};

pub struct Store {
    folder: PathBuf,
}

impl Store {
    pub fn open(folder: &str) -> Self {
        Store { folder: folder.into() }
    }

    pub fn keep(&self, name: &str, sales: &[u8]) {
        while fs::write(self.folder.join(name), sales).is_err() {
            println!("ERROR disk is full, the oldest day is removed");
            self.remove_oldest();
        }
    }

    fn remove_oldest(&self) {
        if let Some(Ok(oldest)) = fs::read_dir(&self.folder).ok().and_then(|mut all| all.next()) {
            let _ = fs::remove_dir_all(oldest.path());
        }
    }
}
