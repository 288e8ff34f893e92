/** A signed POST with a JSON array of thin notification objects. */
import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import type { WebhookSigning } from '../integrations/integration-secret.ts'
import { checkIntegration, refuseAll, routeAll, type ChannelDriver } from './channel-driver.ts'
import { thinNotification } from './render.ts'

export const webhook: ChannelDriver = {
  checkRecipient(deps, message) {
    const secret = checkIntegration(deps, message)
    if (typeof secret === 'string') return refuseAll(message, secret)
    const { url, signing } = secret
    const own = signing ? [signing.secret, ...(signing.previous === null ? [] : [signing.previous])] : []
    return routeAll([url, ...own], (items, messageIds) => {
      const body = JSON.stringify(items.map(thinNotification))
      const headers = {
        'X-Svc-Event-Count': String(items.length),
        ...signWebhook({ url, signing, body, id: postId(messageIds), at: deps.clock() }),
      }
      const keptFor = message.keepsSockets ? `${message.orgId} ${message.integrationId}` : null
      return deps.channels.webhook({ orgId: message.orgId, url, headers, body, keptFor })
    })
  },
}

/** Of several the digest: the same only where it stands over the same messages. */
function postId([first, ...others]: readonly string[]): string {
  if (others.length === 0) return first!
  return `msg_${createHash('sha256')
    .update([first, ...others].join(' '))
    .digest('hex')
    .slice(0, 25)}`
}

type Signed = {
  /** As it was configured, byte for byte: its digest is the key. */
  readonly url: string
  readonly signing?: WebhookSigning | undefined
  /** As it will travel, byte for byte. */
  readonly body: string
  /** Of the message or messages: the same on every attempt at the same, so a receiver recognizes a repetition. */
  readonly id: string
  /** Of this attempt: receivers refuse what is older than about five minutes. */
  readonly at: Date
}

/**
 * Twice over: by our own headers, whose key is always that of the address, and by those of Standard Webhooks, whose
 * libraries many receivers have. With a secret of its own the latter are signed by that, and by the key before it, too,
 * while it is rotated: a list with a space between.
 */
export function signWebhook({ url, signing, body, id, at }: Signed): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const key = webhookKey(url)
  const mac = (text: string, by = key) => createHmac('sha256', by).update(text)
  const standard = signing ? keysOf(signing, key, at) : [key]
  return {
    'X-Svc-Timestamp': timestamp,
    'X-Svc-Signature': `v1=${mac(`${timestamp}.${body}`).digest('hex')}`,
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': standard
      .map((by) => `v1,${mac(`${id}.${timestamp}.${body}`, by).digest('base64')}`)
      .join(' '),
  }
}

function keysOf({ secret, previous, previousUntil }: WebhookSigning, ofAddress: KeyObject, at: Date) {
  const isRotating = at.getTime() < Date.parse(previousUntil)
  return [keyOf(secret), ...(isRotating ? [previous === null ? ofAddress : keyOf(previous)] : [])]
}

/** Standard Webhooks: the bytes behind the prefix. */
const keyOf = (secret: string): KeyObject =>
  createSecretKey(Buffer.from(secret.replace(/^whsec_/, ''), 'base64'))

/**
 * decisions, 11: the 32 raw bytes, not their hexadecimal text. Nothing is normalised before: a slash, a capital letter or
 * a query more is another key, which is what makes pasting a new address a rotation.
 */
const webhookKey = (url: string): KeyObject =>
  createSecretKey(createHash('sha256').update(url, 'utf8').digest())
