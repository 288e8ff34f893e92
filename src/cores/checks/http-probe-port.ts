/** One request of an http check: through the guard, to public addresses and the networks of the organization. */

export type HttpProbe = (asked: {
  readonly orgId: string
  readonly method: 'GET' | 'HEAD' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly timeoutMs: number
  /** Whether the body is wanted: without it, the status line ends the request. */
  readonly readsBody: boolean
}) => Promise<Probed>

/** `isPrivate`: in a network that only the operator's setting allows. */
export type Probed =
  | {
      readonly kind: 'answered'
      readonly status: number
      readonly timeMs: number
      /** Null: there was more than is read. */
      readonly body: string | null
      readonly isPrivate: boolean
    }
  | {
      readonly kind: 'failed'
      readonly reason: 'connection_failed' | 'tls_failed' | 'timed_out'
      readonly timeMs: number
      readonly isPrivate: boolean
    }
  /** Nothing was sent. */
  | { readonly kind: 'refused'; readonly reason: 'no_address' | 'address_refused' | 'dns_failed' }
