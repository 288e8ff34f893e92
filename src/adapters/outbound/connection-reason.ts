/** Why no connection came about, from the codes of Node and OpenSSL: one closed table. Messages may quote the other side. */
import type { NotReachedReason } from '../../contracts/deliveries.ts'
import { codeOf } from './guard.ts'

const BY_CODE: Readonly<Record<string, NotReachedReason>> = {
  CERT_HAS_EXPIRED: 'certificate_expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate_name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate_untrusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate_untrusted',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate_untrusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate_untrusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate_untrusted',
  CERT_UNTRUSTED: 'certificate_untrusted',
  CERT_REJECTED: 'certificate_untrusted',
  CERT_REVOKED: 'certificate_untrusted',
  CERT_NOT_YET_VALID: 'certificate_untrusted',
  CERT_CHAIN_TOO_LONG: 'certificate_untrusted',
  CERT_SIGNATURE_FAILURE: 'certificate_untrusted',
  INVALID_CA: 'certificate_untrusted',
  INVALID_PURPOSE: 'certificate_untrusted',
  EPROTO: 'tls_failed',
  ENOTFOUND: 'name_not_found',
  EAI_AGAIN: 'name_not_found',
  EDNS: 'name_not_found',
  ECONNREFUSED: 'connection_refused',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  ETIMEDOUT: 'timed_out',
  // Of mail: which part took too long.
  ETIMEOUT: 'timed_out',
}

export function connectionReason(error: unknown): NotReachedReason {
  // Several addresses were tried: the last of them says as much as the first.
  if (error instanceof AggregateError && error.errors.length > 0) return connectionReason(error.errors.at(-1))
  const code = codeOf(error)
  return BY_CODE[code] ?? (/^ERR_(SSL|TLS)_/.test(code) ? 'tls_failed' : 'not_reached')
}
