/**
 * What is said, and where: pure, and made of identifiers, codes and our own words alone. Nothing that a person wrote (a
 * title, a text, a name, an address) can get in here, because none of it is given.
 */
import { ThinNotification } from '../../contracts/deliveries.ts'
import { EVENTS, TEST_EVENT, type EventType } from '../../contracts/events.ts'
import { DIGEST_LINES } from '../../contracts/limits.ts'

export type Notice = {
  /** The notification id, the same on every attempt. */
  readonly id: string
  readonly orgId: string
  readonly eventId: string
  readonly type: string
  readonly subject: string
  readonly occurredAt: Date
  /** The app's alias. */
  readonly app: string | null
  readonly data: Readonly<Record<string, string>>
}

const TEST = { says: 'this is a test', page: 'integrations', category: null, status: { is: 'test' } } as const
/** Of a type that this version does not know any more: the event is old, its row is there. */
const UNKNOWN = { says: 'something happened', page: '', category: null, status: { is: 'event' } } as const

const kindOf = (type: string) =>
  type === TEST_EVENT ? TEST : type in EVENTS ? EVENTS[type as EventType] : UNKNOWN

/** decisions, 11: valid CloudEvents attributes with the field names of Standard Webhooks. */
export function thinOf(notice: Notice): ThinNotification {
  const at = notice.occurredAt.toISOString()
  return ThinNotification.parse({
    id: notice.id,
    type: notice.type,
    subject: notice.subject,
    timestamp: at,
    specversion: '1.0',
    source: `/orgs/${notice.orgId}`,
    time: at,
    data: {
      event_id: notice.eventId,
      organization_id: notice.orgId,
      ...(notice.app !== null && { app: notice.app }),
      ...notice.data,
    },
  })
}

/** One sentence without a full stop: "billing: a ticket has a reply". */
export const sentenceOf = ({ app, type }: Pick<Notice, 'app' | 'type'>): string =>
  app === null ? capital(kindOf(type).says) : `${app}: ${kindOf(type).says}`

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** It carries no token and grants nothing: opening it asks for a sign-in. */
export function linkOf({ app, type, data }: Pick<Notice, 'app' | 'type' | 'data'>, appUrl: URL): string {
  const known: Readonly<Record<string, string>> = app === null ? data : { ...data, app }
  const names = [...kindOf(type).page.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  // What cannot be filled in leads to the front door and not to a page that is not there.
  const page = names.every((name) => known[name] !== undefined) ? kindOf(type).page : ''
  const path = page.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(known[name]!))
  return new URL(`/console/${path}`.replace(/\/$/, ''), appUrl).href
}

/** contract, Events 7: a one-line summary and a link; of a digest one line each. */
export const chatText = (notices: readonly Notice[], appUrl: URL): string =>
  lines(notices, (notice) => `${escaped(sentenceOf(notice))} ${chatLink(notice, appUrl)}`)

/** contract, Events 7: only the app, the category, a short status code and one link. */
export const personalText = (notices: readonly Notice[], appUrl: URL): string =>
  lines(notices, (notice) =>
    [notice.app, kindOf(notice.type).category, statusOf(notice)]
      .filter((part) => part !== null)
      .map(escaped)
      .concat(chatLink(notice, appUrl))
      .join(' · '),
  )

function statusOf({ type, data }: Notice): string {
  const { status } = kindOf(type)
  return 'is' in status ? status.is : (data[status.from] ?? type.split('.').at(-1)!)
}

const chatLink = (notice: Notice, appUrl: URL): string => `<${linkOf(notice, appUrl)}|Open>`

/** The three letters that mean something to chat services. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

function lines(notices: readonly Notice[], line: (notice: Notice) => string): string {
  const shown = notices.slice(0, DIGEST_LINES).map(line)
  const more = notices.length - shown.length
  return [...shown, ...(more > 0 ? [`+${more} more`] : [])].join('\n')
}

const SUBJECT_MAX = 120

export type MailText = { readonly subject: string; readonly text: string; readonly html: string }

export function mailText(
  notices: readonly Notice[],
  { appUrl, unsubscribeUrl }: { appUrl: URL; unsubscribeUrl: string },
): MailText {
  const [first] = notices
  const subject = notices.length === 1 ? sentenceOf(first!) : `${notices.length} notifications`
  const more = notices.length - DIGEST_LINES
  const shown = notices.slice(0, DIGEST_LINES)
  const rest = more > 0 ? `+${more} more` : undefined
  const why = 'You get this mail because you are subscribed to it.'
  return {
    subject: subject.slice(0, SUBJECT_MAX),
    text: [
      ...shown.map((notice) => `${sentenceOf(notice)}\n${linkOf(notice, appUrl)}`),
      ...(rest === undefined ? [] : [rest]),
      `${why}\nUnsubscribe: ${unsubscribeUrl}`,
    ].join('\n\n'),
    html: [
      '<!doctype html><html lang="en"><body>',
      ...shown.map(
        (notice) =>
          `<p>${asHtml(sentenceOf(notice))}<br><a href="${asHtml(linkOf(notice, appUrl))}">Open</a></p>`,
      ),
      ...(rest === undefined ? [] : [`<p>${rest}</p>`]),
      `<p>${why} <a href="${asHtml(unsubscribeUrl)}">Unsubscribe</a></p></body></html>`,
    ].join('\n'),
  }
}

const asHtml = (text: string): string => escaped(text).replaceAll('"', '&quot;')

/** A forum wants some fifteen letters of title and twenty of text. */
export function forumPost(notice: Notice, appUrl: URL): { readonly title: string; readonly body: string } {
  const app = notice.app === null ? '' : ` of ${notice.app}`
  return {
    title: `${sentenceOf(notice)} (${notice.subject.split('/').at(-1)!.slice(0, 40)})`,
    body: `Reported by the platform${app}: ${kindOf(notice.type).says}.\n\n${linkOf(notice, appUrl)}`,
  }
}
