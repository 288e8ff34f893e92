/** Signs a webhook twice over: by our own headers, and by those of Standard Webhooks, whose libraries many receivers have. */
import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto'

type Signed = {
  /** As it was configured, byte for byte: its digest is the key. */
  readonly url: string
  /** As it will travel, byte for byte. */
  readonly body: string
  /** Of the message: the same on every attempt, so a receiver can tell a repetition. */
  readonly id: string
  /** Of this attempt: receivers refuse what is older than about five minutes. */
  readonly at: Date
}

export function signWebhook({ url, body, id, at }: Signed): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const key = webhookKey(url)
  const mac = (text: string) => createHmac('sha256', key).update(text)
  return {
    'X-Svc-Timestamp': timestamp,
    'X-Svc-Signature': `v1=${mac(`${timestamp}.${body}`).digest('hex')}`,
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${mac(`${id}.${timestamp}.${body}`).digest('base64')}`,
  }
}

/**
 * decisions, 11: the 32 raw bytes, not their hexadecimal text. Nothing is normalised before: a slash, a capital letter or
 * a query more is another key, which is what makes pasting a new address a rotation.
 */
const webhookKey = (url: string): KeyObject =>
  createSecretKey(createHash('sha256').update(url, 'utf8').digest())
