//! Connections to a picker, plain or with TLS that verifies nothing.

use core::time::Duration;
use std::io;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use http::Uri;
use hyper_util::rt::TokioIo;
use pointsman_proto::ext_proc::external_processor_client::ExternalProcessorClient;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{self, ClientConfig, DigitallySignedStruct, SignatureScheme};
use tonic::transport::{Channel, Endpoint};

/// A client on one HTTP/2 connection.
pub(super) type Client = ExternalProcessorClient<Channel>;

/// How a picker is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Security {
    /// Plain text.
    Plain,
    /// TLS, without verifying who serves it, as gateways do.
    UnverifiedTls,
}

/// Opens a connection to `address`, a host and a port.
pub(super) async fn connect(address: &str, security: Security) -> Result<Client> {
    // The scheme is that of the connector's inside: TLS, if any, is the connector's own matter.
    let endpoint = Endpoint::from_shared(format!("http://{address}"))?
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .tcp_nodelay(true)
        .connect_timeout(CONNECT_WAIT_MAX);
    let channel = match security {
        Security::Plain => endpoint.connect().await,
        Security::UnverifiedTls => {
            let connector = TlsConnector::from(Arc::new(unverified_tls()?));
            let address: Arc<str> = Arc::from(address);
            let connect = tower::service_fn(move |_: Uri| {
                let (connector, address) = (connector.clone(), Arc::clone(&address));
                async move { tls_stream(connector, &address).await.map(TokioIo::new) }
            });
            endpoint.connect_with_connector(connect).await
        }
    };
    let client = Client::new(channel.with_context(|| format!("no connection to {address}"))?);
    Ok(client.max_decoding_message_size(MESSAGE_BYTES_MAX))
}

async fn tls_stream(connector: TlsConnector, address: &str) -> io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_matches(['[', ']']).to_owned();
    let name = ServerName::try_from(host).map_err(io::Error::other)?;
    connector.connect(name, stream).await
}

fn unverified_tls() -> Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Unverified { provider }))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}

/// Takes every certificate, but none that the server has not the key of.
#[derive(Debug)]
struct Unverified {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 8 << 20;
const MESSAGE_BYTES_MAX: usize = 64 << 20;
const CONNECT_WAIT_MAX: Duration = Duration::from_secs(5);
