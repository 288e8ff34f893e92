/** The ports of the channels: what an adapter is given, and what it answers. What a message says is decided in the core. */
import type { Channel } from '../../../contracts/channels.ts'
import type { DeliveryReason } from '../../../contracts/deliveries.ts'

/**
 * What is known after an attempt. `unknown` means that the answer was lost: the message may have arrived, so it is never
 * sent again by itself.
 */
export type Outcome = {
  /** How the answer begins, as it came. */
  readonly response?: string | undefined
  /** There was one, from a private address: none of it is kept. */
  readonly responseWithheld?: true | undefined
  /** What was sent along, for people who look into a failure; without what is signed with the secret. */
  readonly requestHeaders?: Readonly<Record<string, string>> | undefined
} & (
  | { readonly kind: 'sent'; readonly httpStatus?: number | undefined }
  | {
      /** The other side rejected it, or provably never got it. */
      readonly kind: 'refused'
      readonly reason: DeliveryReason
      readonly retry: boolean
      readonly httpStatus?: number | undefined
      readonly retryAfterSeconds?: number | undefined
    }
  | {
      readonly kind: 'unknown'
      readonly httpStatus?: number | undefined
      /** The connection was kept from an earlier message, and the receiver ended it under this one. */
      readonly brokeKeptSocket?: true | undefined
    }
)

export type ChannelPayloads = {
  readonly email: {
    readonly messageId: string
    readonly to: string
    readonly subject: string
    readonly text: string
    readonly html: string
    /** Messages about the same subject stand together in a mailbox. */
    readonly threadKey: string | null
    readonly listId: string
    readonly unsubscribeUrl: string
  }
  readonly chat: { readonly orgId?: string; readonly url: string; readonly text: string }
  readonly direct_message: {
    readonly messageId: string
    readonly botToken: string
    readonly chatUserId: string
    readonly text: string
  }
  /** Signed already; the body travels byte for byte. */
  readonly webhook: {
    readonly orgId?: string
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
    /** Whose connections may be used again, and by nobody else; null: each message has its own. */
    readonly keptFor: string | null
  }
  readonly forum: {
    readonly orgId?: string
    readonly messageId: string
    readonly url: string
    readonly apiKey: string
    readonly category: number
    /** In whose name; the forum knows them by this id. */
    readonly userId: string
    readonly title: string
    readonly body: string
  }
}

export type ChannelPort<C extends Channel> = (payload: ChannelPayloads[C]) => Promise<Outcome>

/** Null: not set up in this installation. */
export type ChannelPorts = {
  readonly [C in Channel]: C extends 'email' ? ChannelPort<C> | null : ChannelPort<C>
}

/** Who somebody is at the chat service. Nothing else of what it says is kept. */
export type ChatPerson = {
  readonly teamId: string
  readonly chatUserId: string
  readonly displayName: string
}

export type ChatInstallation = {
  readonly teamId: string
  readonly teamName: string
  readonly channel: string
  readonly webhookUrl: string
  readonly botToken: string
}

/** The chat service's sign-in, when the operator has set up an app there. */
export type ChatApp = {
  installUrl(state: string): string
  /** Undefined: the service did not take the code. */
  install(code: string): Promise<ChatInstallation | undefined>
  linkUrl(how: { readonly state: string; readonly nonce: string; readonly teamId: string }): string
  identify(how: { readonly code: string; readonly nonce: string }): Promise<ChatPerson | undefined>
}

/** What connecting checks before anything is saved. */
export type IntegrationChecks = {
  /** Whether an address may be sent to at all: shape, scheme, and where its name leads now. */
  isAllowed(url: string, orgId: string): Promise<boolean>
  forumKey(forum: {
    readonly orgId?: string
    readonly url: string
    readonly apiKey: string
  }): Promise<'all_users' | 'single_user' | 'refused' | 'not_reached'>
}
