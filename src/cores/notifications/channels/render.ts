/**
 * The texts of messages: pure, and made of identifiers, codes and our own words. Nothing that a person wrote (a title, a
 * text, a name, an address) can get in, because none of it is passed in. Mails, which may say more, are in render-mail.ts.
 */
import { ThinNotification } from '../../../contracts/deliveries.ts'
import { EVENTS, isAppEvent, partsOfAppEvent, TEST_EVENT, type EventType } from '../../../contracts/events.ts'

/** What a message says about one delivery. */
export type MessageItem = {
  /** The delivery's; of a thin object, the one that its receiver sees. */
  readonly id: string
  /** The delivery that somebody replayed. */
  readonly replayOf: string | null
  readonly orgId: string
  readonly eventId: string
  readonly type: string
  readonly subject: string
  readonly occurredAt: Date
  /** The app's alias. */
  readonly app: string | null
  readonly data: Readonly<Record<string, string>>
}

const TEST = {
  summary: 'this is a test',
  page: 'integrations',
  category: null,
  status: { is: 'test' },
} as const
/** A type that this version no longer knows: the event is older. */
const UNKNOWN = { summary: 'something happened', page: '', category: null, status: { is: 'event' } } as const

function definitionOf(type: string) {
  if (type === TEST_EVENT) return TEST
  if (type in EVENTS) return EVENTS[type as EventType]
  return isAppEvent(type) ? definitionOfAppEvent(type) : UNKNOWN
}

/** By what the app calls it, in words: with its dots a mail program could take it for an address. */
function definitionOfAppEvent(type: string) {
  const words = partsOfAppEvent(type)
    .name.replaceAll(/[._-]+/g, ' ')
    .trim()
  return {
    summary: words || 'an event',
    page: 'apps/{app}',
    category: null,
    status: { is: 'event' },
  } as const
}

/** decisions, 11: valid CloudEvents attributes with the field names of Standard Webhooks. */
export function thinNotification(item: Omit<MessageItem, 'replayOf'>): ThinNotification {
  const at = item.occurredAt.toISOString()
  return ThinNotification.parse({
    id: item.id,
    type: item.type,
    subject: item.subject,
    timestamp: at,
    specversion: '1.0',
    source: `/orgs/${item.orgId}`,
    time: at,
    data: {
      event_id: item.eventId,
      organization_id: item.orgId,
      ...(item.app !== null && { app: item.app }),
      ...item.data,
    },
  })
}

/** One line without a full stop: "billing: a ticket has a reply". */
export const summaryLine = ({ app, type }: Pick<MessageItem, 'app' | 'type'>): string =>
  app === null ? capital(definitionOf(type).summary) : `${app}: ${definitionOf(type).summary}`

/** In the inbox, where every reader may know of the app, what an app wrote stands instead. */
export const inboxLine = (
  item: Pick<MessageItem, 'app' | 'type'> & { readonly text: string | null },
): string => (item.text !== null && item.app !== null ? `${item.app}: ${item.text}` : summaryLine(item))

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** It carries no token and grants nothing: opening it asks for a sign-in. */
export function linkOf({ app, type, data }: Pick<MessageItem, 'app' | 'type' | 'data'>, appUrl: URL): string {
  const own = isAppEvent(type) ? data['link'] : undefined
  if (own !== undefined) return own
  const known: Readonly<Record<string, string>> = app === null ? data : { ...data, app }
  const names = [...definitionOf(type).page.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  // Where a name is missing, to the start page rather than to a page that does not exist.
  const page = names.every((name) => known[name] !== undefined) ? definitionOf(type).page : ''
  const path = page.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(known[name]!))
  return new URL(`/console/${path}`.replace(/\/$/, ''), appUrl).href
}

/** interface.md, Events 7: a one-line summary and a link; of a digest one line each. */
export const chatText = (items: readonly MessageItem[], appUrl: URL): string =>
  lines(items, (item) => `${escaped(summaryLine(item))} ${chatLink(item, appUrl)}`)

/** interface.md, Events 7: only the app, the category, a short status code and one link. */
export const personalText = (items: readonly MessageItem[], appUrl: URL): string =>
  lines(items, (item) =>
    [item.app, definitionOf(item.type).category, statusOf(item)]
      .filter((part) => part !== null)
      .map(escaped)
      .concat(chatLink(item, appUrl))
      .join(' · '),
  )

export function statusOf({ type, data }: MessageItem): string {
  const { status } = definitionOf(type)
  return 'is' in status ? status.is : (data[status.from] ?? type.split('.').at(-1)!)
}

const chatLink = (item: MessageItem, appUrl: URL): string => `<${linkOf(item, appUrl)}|Open>`

/** The three characters that chat services interpret. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const lines = (items: readonly MessageItem[], line: (item: MessageItem) => string): string =>
  items.map(line).join('\n')

/** Discourse wants at least 15 characters of title and 20 of text. */
export function forumPost(item: MessageItem, appUrl: URL): { readonly title: string; readonly body: string } {
  const app = item.app === null ? '' : ` of ${item.app}`
  return {
    title: `${summaryLine(item)} (${item.subject.split('/').at(-1)!.slice(0, 40)})`,
    body: `Reported by the platform${app}: ${definitionOf(item.type).summary}.\n\n${linkOf(item, appUrl)}`,
  }
}
