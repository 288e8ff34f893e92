/**
 * An authority of a test, and certificates of it with any name and any dates: the tools that make them do not agree on how to
 * ask for one that has expired. As much of X.509 (RFC 5280, 4.1) as a server needs.
 */
import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'

type Dates = { readonly from: Date; readonly until: Date }
type Issued = { readonly key: string; readonly cert: string }

type CertificateAuthority = {
  readonly cert: string
  /** Together with its key. */
  issue(hostName: string, dates: Dates): Issued
}

export function certificateAuthority(name: string, dates: Dates): CertificateAuthority {
  const own = newKeys()
  const certificate = (subject: string, publicKey: KeyObject, extension: Buffer, { from, until }: Dates) => {
    const signed = sequence(
      tagged(0xa0, tagged(0x02, Buffer.from([2]))),
      tagged(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
      ECDSA_WITH_SHA256,
      commonName(name),
      sequence(time(from), time(until)),
      commonName(subject),
      publicKey.export({ type: 'spki', format: 'der' }),
      tagged(0xa3, sequence(extension)),
    )
    const signature = sign('sha256', signed, own.privateKey)
    return pem(
      sequence(signed, ECDSA_WITH_SHA256, tagged(0x03, Buffer.concat([Buffer.from([0]), signature]))),
    )
  }
  return {
    cert: certificate(name, own.publicKey, IS_AUTHORITY, dates),
    issue(hostName, of) {
      const { publicKey, privateKey } = newKeys()
      return {
        key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
        cert: certificate(hostName, publicKey, alternativeName(hostName), of),
      }
    },
  }
}

const newKeys = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' })

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}
const sequence = (...parts: readonly Buffer[]) => tagged(0x30, Buffer.concat(parts))
const identifier = (hex: string) => tagged(0x06, Buffer.from(hex, 'hex'))
const ECDSA_WITH_SHA256 = sequence(identifier('2a8648ce3d040302'))
const commonName = (name: string) =>
  sequence(tagged(0x31, sequence(identifier('550403'), tagged(0x0c, Buffer.from(name)))))
/** `20260102030405Z`. */
const time = (at: Date) => tagged(0x18, Buffer.from(at.toISOString().replaceAll(/[-:T]|\.\d+/g, '')))
/** basicConstraints: this one may issue others. */
const IS_AUTHORITY = sequence(
  identifier('551d13'),
  tagged(0x01, Buffer.from([0xff])),
  tagged(0x04, sequence(tagged(0x01, Buffer.from([0xff])))),
)
const alternativeName = (hostName: string) =>
  sequence(identifier('551d11'), tagged(0x04, sequence(tagged(0x82, Buffer.from(hostName)))))

const pem = (der: Buffer): string =>
  [
    '-----BEGIN CERTIFICATE-----',
    ...der.toString('base64').match(/.{1,64}/g)!,
    '-----END CERTIFICATE-----',
    '',
  ].join('\n')
