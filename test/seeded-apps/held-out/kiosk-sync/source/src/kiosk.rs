use std::{io, net::TcpStream, time::Duration};

pub struct Kiosk {
    pub name: String,
    pub address: std::net::SocketAddr,
}

impl Kiosk {
    pub fn fetch(&self) -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect_timeout(&self.address, Duration::from_secs(5))?;
        let mut sales = Vec::new();
        io::copy(&mut stream, &mut sales)?;
        Ok(sales)
    }
}

pub fn all() -> Vec<Kiosk> {
    Vec::new()
}
