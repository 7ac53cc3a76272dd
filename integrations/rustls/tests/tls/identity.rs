//! Certificates, made by openssl.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// No more than the name: a certificate that vouches for itself and for no other.
const CONFIG: &str = "[req]\ndistinguished_name = dn\nx509_extensions = extensions\n\
    [dn]\n[extensions]\nsubjectAltName = DNS:localhost\n";

/// A key and its certificate, for `localhost`.
pub(crate) struct Identity {
    pub(crate) certificate: PathBuf,
    pub(crate) private_key: PathBuf,
}

impl Identity {
    pub(crate) fn p256() -> &'static Self {
        static IDENTITY: OnceLock<Identity> = OnceLock::new();
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
        IDENTITY.get_or_init(|| Self::make("p256", &key))
    }

    pub(crate) fn rsa_2048() -> &'static Self {
        static IDENTITY: OnceLock<Identity> = OnceLock::new();
        IDENTITY.get_or_init(|| Self::make("rsa", &["-newkey", "rsa:2048"]))
    }

    fn make(name: &str, key: &[&str]) -> Self {
        let file = |suffix| Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.{suffix}"));
        let identity = Self { certificate: file("crt"), private_key: file("key") };
        let config = file("cnf");
        std::fs::write(&config, CONFIG).expect("the folder is ours");
        let output = Command::new("openssl")
            .args(["req", "-x509", "-noenc", "-days", "2", "-subj", "/CN=localhost"])
            .args(key)
            .arg("-config")
            .arg(config)
            .arg("-keyout")
            .arg(&identity.private_key)
            .arg("-out")
            .arg(&identity.certificate)
            .output()
            .expect("openssl is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        identity
    }

    pub(crate) fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![CertificateDer::from_pem_file(&self.certificate).expect("openssl wrote it")]
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::from_pem_file(&self.private_key).expect("openssl wrote it")
    }

    pub(crate) fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(self.chain());
        assert_eq!(roots.len(), 1);
        roots
    }
}
