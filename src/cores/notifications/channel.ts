/** The ways out, as the core sees them. What is said is decided here; how it travels is an adapter's business. */
import type { SendReason } from '../../contracts/deliveries.ts'

/**
 * What is known after an attempt. `unknown` is the honest word for a lost answer: the message may have arrived, so it is
 * never sent again by itself.
 */
export type Outcome =
  | { readonly kind: 'sent'; readonly httpStatus?: number | undefined }
  | {
      /** The other side said no, or provably never got it. */
      readonly kind: 'refused'
      readonly reason: SendReason
      readonly retry: boolean
      readonly httpStatus?: number | undefined
      readonly retryAfterSeconds?: number | undefined
    }
  | { readonly kind: 'unknown'; readonly httpStatus?: number | undefined }

export type Mail = {
  readonly sendId: string
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** Messages about the same thing stand together in a mailbox. */
  readonly threadKey: string | null
  readonly listId: string
  readonly unsubscribeUrl: string
}

export type Channels = {
  /** Signed already; the body travels byte for byte. */
  webhook(request: {
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }): Promise<Outcome>
  chatWebhook(message: { readonly url: string; readonly text: string }): Promise<Outcome>
  directMessage(message: {
    readonly sendId: string
    readonly botToken: string
    readonly chatUserId: string
    readonly text: string
  }): Promise<Outcome>
  /** Null where no mail server is set up. */
  readonly email: ((mail: Mail) => Promise<Outcome>) | null
  forum(post: {
    readonly sendId: string
    readonly url: string
    readonly apiKey: string
    readonly category: number
    /** In whose name; the forum knows them by this id. */
    readonly userId: string
    readonly title: string
    readonly body: string
  }): Promise<Outcome>
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
export type ConnectionChecks = {
  /** Whether an address may be sent to at all: shape, scheme, and where its name leads now. */
  isAllowed(url: string): Promise<boolean>
  forumKey(forum: {
    readonly url: string
    readonly apiKey: string
  }): Promise<'all_users' | 'single_user' | 'refused' | 'not_reached'>
}
