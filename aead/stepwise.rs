//! Sealing and opening in place, one section at a time.
//!
//! ```text
//! Sealing   | aad | encrypt, authenticate | tag |
//! Opening   | aad | authenticate | verdict | decrypt |
//! ```
//!
//! What always holds: `in_out[..applied]` has the keystream on it, once, and nothing else has
//! changed. So what is dropped before its end can be put back.

use core::fmt;
use core::ops::ControlFlow;

use super::whole::Whole;
use super::{ChaCha20Poly1305, Error, XChaCha20Poly1305, framing};
use crate::chacha::data::{InPlace, Keystream};
use crate::poly1305::{Accumulator, tags_are_equal};
use crate::section::{AEAD_BYTES, CHACHA20_BYTES, POLY1305_BYTES};

/// What a step of [`Sealing`] or [`Opening`] leads to.
///
/// # Examples
///
/// ```
/// use keyspring::aead::{ChaCha20Poly1305, Step};
///
/// let mut message = [0; 100];
/// let mut sealing = ChaCha20Poly1305::from_key(&[7; 32]).sealing(&[1; 12], b"", &mut message)?;
/// assert!(matches!(sealing.step(), Step::Finished(_)), "it is shorter than a section");
/// # Ok::<(), keyspring::aead::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a message is not finished before a step says so"]
pub enum Step<T> {
    /// There is more to do. So many bytes of the message are done; opening goes over each twice.
    More(usize),
    /// The tag, or whether the message is genuine.
    Finished(T),
}

/// A message that is being sealed in place, one section a [`step`](Self::step), so that others may
/// run in between; made by [`ChaCha20Poly1305::sealing`] and [`XChaCha20Poly1305::sealing`].
///
/// If it is dropped before it is finished, the buffer is put back as it was, which takes as long as
/// the steps have.
///
/// # Examples
///
/// ```
/// use keyspring::aead::{ChaCha20Poly1305, Step};
///
/// let cipher = ChaCha20Poly1305::from_key(&[7; 32]);
/// let mut message = vec![0; 100_000];
/// let mut sealing = cipher.sealing(&[1; 12], b"to: north", &mut message)?;
/// let tag = loop {
///     match sealing.step() {
///         Step::More(done) => println!("{done} bytes"), // or await something
///         Step::Finished(tag) => break tag,
///     }
/// };
/// drop(sealing);
/// cipher.open_in_place(&[1; 12], b"to: north", &mut message, &tag)?;
/// # Ok::<(), keyspring::aead::Error>(())
/// ```
pub struct Sealing<'a>(Pass<'a, [u8; 16]>);

impl Sealing<'_> {
    /// Seals one section more: at most [`AEAD_BYTES`] of AAD and message together. After the end it
    /// gives the tag again.
    ///
    /// # Examples
    ///
    /// See [`Sealing`].
    pub fn step(&mut self) -> Step<[u8; 16]> {
        let pass = &mut self.0;
        if pass.outcome.is_none() {
            let room = pass.authenticate_aad(AEAD_BYTES);
            pass.encrypt(room);
            if pass.aad.is_empty() && pass.authenticated == pass.in_out.len() {
                pass.outcome = Some(pass.tag());
            }
        }
        pass.outcome.map_or(Step::More(pass.applied), Step::Finished)
    }
}

/// A message that is being opened in place, one section a [`step`](Self::step); made by
/// [`ChaCha20Poly1305::opening`] and [`XChaCha20Poly1305::opening`].
///
/// The whole ciphertext is authenticated before the first byte of it is decrypted. A message that is
/// refused is left as it was, and so is one that is dropped before it is finished, which takes as
/// long as the decryption has.
///
/// # Examples
///
/// ```
/// use keyspring::aead::{ChaCha20Poly1305, Step};
///
/// let cipher = ChaCha20Poly1305::from_key(&[7; 32]);
/// let mut message = vec![0; 100_000];
/// let tag = cipher.seal_in_place(&[1; 12], b"to: north", &mut message)?;
/// let mut opening = cipher.opening(&[1; 12], b"to: north", &mut message, &tag)?;
/// let genuine = loop {
///     match opening.step() {
///         Step::More(_) => std::thread::yield_now(),
///         Step::Finished(genuine) => break genuine,
///     }
/// };
/// assert_eq!(genuine, Ok(()));
/// # Ok::<(), keyspring::aead::Error>(())
/// ```
pub struct Opening<'a> {
    pass: Pass<'a, Result<(), Error>>,
    tag: [u8; 16],
    genuine: bool,
}

impl Opening<'_> {
    /// Authenticates one section more, at most [`POLY1305_BYTES`] of AAD and ciphertext together; or
    /// decrypts one, at most [`CHACHA20_BYTES`], once the tag was right. After the end it gives the
    /// verdict again.
    ///
    /// # Examples
    ///
    /// See [`Opening`].
    pub fn step(&mut self) -> Step<Result<(), Error>> {
        let pass = &mut self.pass;
        if pass.outcome.is_none() {
            if self.genuine {
                pass.apply(pass.end(pass.applied, CHACHA20_BYTES));
            } else {
                let room = pass.authenticate_aad(POLY1305_BYTES);
                pass.authenticate(pass.end(pass.authenticated, room));
                if pass.aad.is_empty() && pass.authenticated == pass.in_out.len() {
                    self.genuine = tags_are_equal(&pass.tag(), &self.tag);
                    pass.outcome = if self.genuine { None } else { Some(Err(Error(()))) };
                }
            }
            if self.genuine && pass.applied == pass.in_out.len() {
                pass.outcome = Some(Ok(()));
            }
        }
        pass.outcome.map_or(Step::More(pass.authenticated + pass.applied), Step::Finished)
    }
}

/// A message on its way through both primitives.
struct Pass<'a, T> {
    whole: Whole,
    mac: Accumulator,
    /// What is left of it to authenticate.
    aad: &'a [u8],
    aad_len: usize,
    in_out: &'a mut [u8],
    /// So many bytes have the keystream on them.
    applied: usize,
    authenticated: usize,
    outcome: Option<T>,
}

impl<'a, T> Pass<'a, T> {
    fn new(whole: Whole, aad: &'a [u8], in_out: &'a mut [u8]) -> Result<Self, Error> {
        framing::check(in_out.len())?;
        let mut block = [0; 64];
        whole.cores.chacha.run(&whole.state, 0, None, Keystream(&mut block));
        let mac = whole.authenticator(&mut block);
        let aad_len = aad.len();
        Ok(Self { whole, mac, aad, aad_len, in_out, applied: 0, authenticated: 0, outcome: None })
    }

    /// Takes in AAD, at most `room` bytes of it; returns the room that is left.
    fn authenticate_aad(&mut self, room: usize) -> usize {
        let (head, rest) = self.aad.split_at(self.aad.len().min(room));
        self.mac.padded(head);
        self.aad = rest;
        room - head.len()
    }

    /// Where a section of at most `room` bytes ends that starts at `from`: behind a whole block, or
    /// with the message.
    fn end(&self, from: usize, room: usize) -> usize {
        self.in_out.len().min(from + room - room % 64)
    }

    /// Takes in what is in the buffer, up to `end`.
    fn authenticate(&mut self, end: usize) {
        self.mac.padded(&self.in_out[self.authenticated..end]);
        self.authenticated = end;
    }

    /// Puts the keystream on, up to `end`.
    fn apply(&mut self, end: usize) {
        let first = 1 + (self.applied / 64) as u64;
        let data = InPlace(&mut self.in_out[self.applied..end]);
        self.whole.cores.chacha.run(&self.whole.state, first, None, data);
        self.applied = end;
    }

    /// Encrypts at most `room` bytes and authenticates them. A fused row may be behind with its
    /// tag, by a chunk, until the message ends.
    fn encrypt(&mut self, room: usize) {
        let end = self.end(self.applied, room);
        if let Some(fused) = self.whole.cores.fused {
            let from = self.authenticated;
            let first = 1 + (self.applied / 64) as u64;
            let (mac, out) = (self.mac.state(), &mut self.in_out[from..end]);
            let (encrypted, authenticated) =
                fused.seal(&self.whole.state, first, mac, None, out, self.applied - from);
            (self.applied, self.authenticated) = (from + encrypted, from + authenticated);
        }
        if self.applied < end || end == self.in_out.len() {
            self.apply(end);
            self.authenticate(end);
        }
    }

    fn tag(&mut self) -> [u8; 16] {
        self.mac.blocks(&[framing::lengths(self.aad_len, self.in_out.len())]);
        self.mac.clone().tag()
    }
}

impl<T> Drop for Pass<'_, T> {
    /// Puts the buffer back unless the message is finished.
    fn drop(&mut self) {
        if self.outcome.is_none() {
            let data = InPlace(&mut self.in_out[..self.applied]);
            self.whole.cores.chacha.run(&self.whole.state, 1, None, data);
        }
    }
}

macro_rules! stepwise {
    ($name:ident, $nonce_len:literal) => {
        impl $name {
            /// Starts to seal a message in place, to be done by [`Sealing::step`]. The buffer holds
            /// the ciphertext when that is finished, and the message if it never is.
            ///
            /// # Errors
            ///
            /// [`Error`] if the message is longer than [`MAX_LEN`](Self::MAX_LEN) bytes.
            ///
            /// # Security
            ///
            /// The nonce must never be used again under this key.
            ///
            /// # Examples
            ///
            /// See [`Sealing`].
            pub fn sealing<'a>(
                &self,
                nonce: &[u8; $nonce_len],
                aad: &'a [u8],
                in_out: &'a mut [u8],
            ) -> Result<Sealing<'a>, Error> {
                Pass::new(self.under(nonce), aad, in_out).map(Sealing)
            }

            /// Starts to open a message in place, to be done by [`Opening::step`]. The buffer holds
            /// the message when that is finished and the tag was right, and the ciphertext
            /// otherwise.
            ///
            /// # Errors
            ///
            /// [`Error`] if the message is longer than [`MAX_LEN`](Self::MAX_LEN) bytes.
            ///
            /// # Examples
            ///
            /// See [`Opening`].
            pub fn opening<'a>(
                &self,
                nonce: &[u8; $nonce_len],
                aad: &'a [u8],
                in_out: &'a mut [u8],
                tag: &[u8; 16],
            ) -> Result<Opening<'a>, Error> {
                let pass = Pass::new(self.under(nonce), aad, in_out)?;
                Ok(Opening { pass, tag: *tag, genuine: false })
            }

            /// Seals a message in place and calls `checkpoint` between sections, with the bytes that
            /// are done. Returns the tag; or, if `checkpoint` breaks, how far it had come, and the
            /// buffer is as it was.
            ///
            /// # Errors
            ///
            /// [`Error`] if the message is longer than [`MAX_LEN`](Self::MAX_LEN) bytes; nothing is
            /// written.
            ///
            /// # Security
            ///
            /// The nonce must never be used again under this key.
            ///
            /// # Examples
            ///
            /// ```
            /// use core::ops::ControlFlow;
            ///
            #[doc = concat!("# use keyspring::aead::", stringify!($name), ";")]
            #[doc = concat!("# let cipher = ", stringify!($name), "::from_key(&[7; 32]);")]
            #[doc = concat!("# let nonce = [1; ", stringify!($nonce_len), "];")]
            /// let mut message = vec![0; 100_000];
            /// let far = |done| if done > 50_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            /// let sealed = cipher.seal_in_place_with(&nonce, b"", &mut message, far)?;
            /// assert!(matches!(sealed, ControlFlow::Break(50_001..)));
            /// assert_eq!(message, vec![0; 100_000]);
            /// # Ok::<(), keyspring::aead::Error>(())
            /// ```
            pub fn seal_in_place_with(
                &self,
                nonce: &[u8; $nonce_len],
                aad: &[u8],
                in_out: &mut [u8],
                checkpoint: impl FnMut(usize) -> ControlFlow<()>,
            ) -> Result<ControlFlow<usize, [u8; 16]>, Error> {
                let mut sealing = self.sealing(nonce, aad, in_out)?;
                Ok(finish(|| sealing.step(), checkpoint))
            }

            /// Opens a message in place and calls `checkpoint` between sections, with the bytes that
            /// are done: twice the message's in the end, which is authenticated first and then
            /// decrypted. If `checkpoint` breaks, returns how far it had come, and the buffer is as
            /// it was.
            ///
            /// # Errors
            ///
            /// [`Error`] if the message is refused: the buffer is as it was, still the ciphertext.
            ///
            /// # Examples
            ///
            /// ```
            /// use core::ops::ControlFlow;
            ///
            #[doc = concat!("# use keyspring::aead::", stringify!($name), ";")]
            #[doc = concat!("# let cipher = ", stringify!($name), "::from_key(&[7; 32]);")]
            #[doc = concat!("# let nonce = [1; ", stringify!($nonce_len), "];")]
            /// let mut message = *b"attack at dawn";
            /// let tag = cipher.seal_in_place(&nonce, b"", &mut message)?;
            /// let go_on = |_| ControlFlow::Continue(());
            /// let opened = cipher.open_in_place_with(&nonce, b"", &mut message, &tag, go_on)?;
            /// assert_eq!(opened, ControlFlow::Continue(()));
            /// assert_eq!(&message, b"attack at dawn");
            /// # Ok::<(), keyspring::aead::Error>(())
            /// ```
            pub fn open_in_place_with(
                &self,
                nonce: &[u8; $nonce_len],
                aad: &[u8],
                in_out: &mut [u8],
                tag: &[u8; 16],
                checkpoint: impl FnMut(usize) -> ControlFlow<()>,
            ) -> Result<ControlFlow<usize>, Error> {
                let mut opening = self.opening(nonce, aad, in_out, tag)?;
                match finish(|| opening.step(), checkpoint) {
                    ControlFlow::Continue(genuine) => genuine.map(ControlFlow::Continue),
                    ControlFlow::Break(done) => Ok(ControlFlow::Break(done)),
                }
            }
        }
    };
}

stepwise!(ChaCha20Poly1305, 12);
stepwise!(XChaCha20Poly1305, 24);

/// Steps to the end, or until the checkpoint breaks.
fn finish<T>(
    mut step: impl FnMut() -> Step<T>,
    mut checkpoint: impl FnMut(usize) -> ControlFlow<()>,
) -> ControlFlow<usize, T> {
    loop {
        match step() {
            Step::Finished(outcome) => return ControlFlow::Continue(outcome),
            Step::More(done) if checkpoint(done).is_break() => return ControlFlow::Break(done),
            Step::More(_) => {}
        }
    }
}

impl fmt::Debug for Sealing<'_> {
    /// Shows how far it has come.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealing").field("done", &self.0.applied).finish_non_exhaustive()
    }
}

impl fmt::Debug for Opening<'_> {
    /// Shows how far it has come.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = self.pass.authenticated + self.pass.applied;
        f.debug_struct("Opening").field("done", &done).finish_non_exhaustive()
    }
}

// They force backends, which a packaged crate can't.
#[cfg(all(test, feature = "force-backend"))]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::cpu;

    const NONCE: [u8; 12] = [3; 12];

    /// Painted with period 251.
    fn painted(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i % 251) as u8).collect()
    }

    /// Calls `f` on every backend with messages and AAD on both sides of the section's length.
    fn each(mut f: impl FnMut(&ChaCha20Poly1305, &[u8], &[u8], &str)) {
        for backend in cpu::backends() {
            let _guard = cpu::force(backend).expect("a backend of this machine");
            let cipher = ChaCha20Poly1305::from_key(&[7; 32]);
            for aad in [0, 13, 4090, 4096, 9000] {
                for len in [0, 1, 64, 449, 4032, 4096, 4097, 5000, 3 * 4096 + 7, 20_000] {
                    let at = std::format!("{backend}, length {len}, aad {aad}");
                    f(&cipher, &painted(aad), &painted(len), &at);
                }
            }
        }
    }

    fn steps<T>(mut step: impl FnMut() -> Step<T>) -> (Vec<usize>, T) {
        let mut seen = Vec::new();
        loop {
            match step() {
                Step::More(done) => seen.push(done),
                Step::Finished(outcome) => return (seen, outcome),
            }
        }
    }

    #[test]
    fn steps_give_what_one_call_gives_and_none_is_longer_than_a_section() {
        each(|cipher, aad, message, at| {
            let (mut expected, mut bytes) = (message.to_vec(), message.to_vec());
            let tag = cipher.seal_in_place(&NONCE, aad, &mut expected).unwrap();

            let mut sealing = cipher.sealing(&NONCE, aad, &mut bytes).unwrap();
            let (seen, stepped) = steps(|| sealing.step());
            assert_eq!(sealing.step(), Step::Finished(tag), "{at}");
            drop(sealing);
            assert!(stepped == tag && bytes == expected, "{at}");
            let longest = |seen: &[usize]| seen.windows(2).map(|two| two[1] - two[0]).max();
            assert!(longest(&seen) <= Some(AEAD_BYTES), "{at}: {seen:?}");
            assert!(seen.len() <= (aad.len() + message.len()) / AEAD_BYTES + 1, "{at}: {seen:?}");

            let mut opening = cipher.opening(&NONCE, aad, &mut bytes, &tag).unwrap();
            let (seen, genuine) = steps(|| opening.step());
            assert_eq!(opening.step(), Step::Finished(Ok(())), "{at}");
            drop(opening);
            assert!(genuine.is_ok() && bytes == message, "{at}");
            assert!(longest(&seen) <= Some(POLY1305_BYTES), "{at}: {seen:?}");
        });
    }

    #[test]
    fn dropped_at_every_step_the_buffer_is_as_it_was() {
        each(|cipher, aad, message, at| {
            let (mut sealed, mut bytes) = (message.to_vec(), message.to_vec());
            let tag = cipher.seal_in_place(&NONCE, aad, &mut sealed).unwrap();
            for steps in 0.. {
                let mut sealing = cipher.sealing(&NONCE, aad, &mut bytes).unwrap();
                if (0..steps).any(|_| matches!(sealing.step(), Step::Finished(_))) {
                    break;
                }
                drop(sealing);
                assert!(bytes == message, "sealing {at}, {steps} steps");
            }
            for steps in 0.. {
                let mut opening = cipher.opening(&NONCE, aad, &mut bytes, &tag).unwrap();
                if (0..steps).any(|_| matches!(opening.step(), Step::Finished(_))) {
                    break;
                }
                drop(opening);
                assert!(bytes == sealed, "opening {at}, {steps} steps");
            }
            assert!(bytes == message, "{at}");
        });
    }

    #[test]
    fn a_forgery_is_refused_before_a_byte_is_decrypted() {
        each(|cipher, aad, message, at| {
            let mut bytes = message.to_vec();
            let mut tag = cipher.seal_in_place(&NONCE, aad, &mut bytes).unwrap();
            let sealed = bytes.clone();
            tag[15] ^= 0x80;
            let mut opening = cipher.opening(&NONCE, aad, &mut bytes, &tag).unwrap();
            let (seen, genuine) = steps(|| opening.step());
            assert_eq!(opening.pass.applied, 0, "{at}");
            assert_eq!(opening.step(), Step::Finished(Err(Error(()))), "{at}");
            drop(opening);
            assert!(genuine.is_err() && bytes == sealed, "{at}");
            assert!(seen.last() <= Some(&message.len()), "{at}: {seen:?}");
        });
    }

    #[test]
    fn a_checkpoint_that_breaks_says_how_far_it_came_and_leaves_the_buffer() {
        let cipher = XChaCha20Poly1305::from_key(&[7; 32]);
        let (message, nonce) = (painted(20_000), [3; 24]);
        let mut bytes = message.clone();
        let mut calls = 0;
        let sealed = cipher.seal_in_place_with(&nonce, b"", &mut bytes, |_| {
            calls += 1;
            if calls == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(sealed, Ok(ControlFlow::Break(3 * AEAD_BYTES)));
        assert!(bytes == message);

        let tag = cipher.seal_in_place(&nonce, b"", &mut bytes).unwrap();
        let sealed = bytes.clone();
        let opened = cipher.open_in_place_with(&nonce, b"", &mut bytes, &tag, |done| {
            if done > 20_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(opened, Ok(ControlFlow::Break(20_000 + CHACHA20_BYTES)));
        assert!(bytes == sealed);
    }
}
