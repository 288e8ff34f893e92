/** A signed POST with a JSON array of thin notification objects. */
import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import type { WebhookSigning } from '../integrations/integration-secret.ts'
import { checkIntegration, refuseAll, routeAll, type ChannelDriver } from './channel-driver.ts'
import { receivedId, receivedPostId } from './received-id.ts'
import { thinNotification } from './render.ts'

export const webhook: ChannelDriver = {
  checkRecipient(deps, message) {
    const secret = checkIntegration(deps, message)
    if (typeof secret === 'string') return refuseAll(message, secret)
    const { url, signing } = secret
    const { target } = message
    const own = signing ? [signing.secret, ...(signing.previous === null ? [] : [signing.previous])] : []
    // All that share a POST have this target.
    return routeAll([url, ...own], (items) => {
      const seen = items.map((item) => ({ ...item, id: receivedId(deps.dataKeys, { ...item, target }) }))
      const body = JSON.stringify(seen.map(thinNotification))
      const id = receivedPostId(
        deps.dataKeys,
        target,
        seen.map((one) => one.id),
      )
      const headers = {
        'X-Svc-Event-Count': String(items.length),
        ...signWebhook({ url, signing, body, id, at: deps.clock() }),
      }
      const keptFor = message.keepsSockets ? `${message.orgId} ${message.integrationId}` : null
      return deps.channels.webhook({ orgId: message.orgId, url, headers, body, keptFor })
    })
  },
}

type Signed = {
  /** As it was configured, byte for byte: its digest is the key. */
  readonly url: string
  readonly signing?: WebhookSigning | undefined
  /** As it will travel, byte for byte. */
  readonly body: string
  /** The same on every attempt at the same, so a receiver recognizes a repetition. */
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
