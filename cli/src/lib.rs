//! What the program `keyspring` does that has nothing to do with a command line.
//!
//! ```
//! use keyspring::crng;
//! use keyspring_cli::stream::{Cost, Header, Secret};
//!
//! let secret = Secret::Key(crng::key());
//! let (header, mut sealing) = Header::seal(&secret, Cost::DEFAULT)?;
//! let mut chunk = b"attack at dawn".to_vec();
//! sealing.seal(&mut chunk)?;
//!
//! let mut opening = Header::parse(header.as_bytes())?.open(&secret)?;
//! opening.open(&mut chunk)?;
//! assert_eq!(chunk, b"attack at dawn");
//! # Ok::<(), keyspring_cli::stream::Error>(())
//! ```

pub mod stream;
