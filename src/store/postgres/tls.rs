//! TLS to the server, as far as `sslmode` asks for it. The settings are made once for each store.

#![forbid(unsafe_code)]

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
};

use super::url::{Roots, Target, TlsMode};
use crate::error::{Error, Reason, Result};

/// Whose certificate it is does not matter, or not for which host.
#[derive(Debug)]
struct Lenient {
    provider: Arc<CryptoProvider>,
    /// Vouches for the chain; the name is not compared.
    roots: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, TlsError> {
        let Some(roots) = &self.roots else { return Ok(ServerCertVerified::assertion()) };
        match roots.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The name is looked at when all else is found good.
            Err(TlsError::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn roots(target: &Target) -> Result<Arc<RootCertStore>> {
    let unusable = || {
        Error::new(
            Reason::StorageUnavailable,
            "the certificates that sslrootcert names, or those of the system, cannot be read",
        )
    };
    let mut store = RootCertStore::empty();
    match &target.roots {
        Roots::File(path) => {
            for certificate in CertificateDer::pem_file_iter(path).map_err(|_| unusable())? {
                store.add(certificate.map_err(|_| unusable())?).map_err(|_| unusable())?;
            }
        }
        Roots::System => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if store.is_empty() {
        return Err(unusable());
    }
    Ok(Arc::new(store))
}

/// The settings for connections to `target`; `None` when TLS is not wanted.
pub(super) fn settings(target: &Target) -> Result<Option<Arc<ClientConfig>>> {
    let unusable = |_| Error::new(Reason::StorageUnavailable, "TLS cannot be set up");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let verifier = || -> Result<Arc<WebPkiServerVerifier>> {
        WebPkiServerVerifier::builder_with_provider(roots(target)?, Arc::clone(&provider))
            .build()
            .map_err(|_| Error::new(Reason::StorageUnavailable, "TLS cannot be set up"))
    };
    let lenient = |roots| Arc::new(Lenient { provider: Arc::clone(&provider), roots });
    let config = match target.tls {
        TlsMode::Disable => return Ok(None),
        TlsMode::Prefer | TlsMode::Require => {
            builder.dangerous().with_custom_certificate_verifier(lenient(None)).with_no_client_auth()
        }
        TlsMode::VerifyCa => {
            let roots = Some(verifier()?);
            builder.dangerous().with_custom_certificate_verifier(lenient(roots)).with_no_client_auth()
        }
        TlsMode::VerifyFull => builder.with_webpki_verifier(verifier()?).with_no_client_auth(),
    };
    Ok(Some(Arc::new(config)))
}
