/**
 * The text of a mail: what happened, which ticket it is about, and in which organization. Titles and names are what people
 * wrote, so they are reduced first, and only passed in where the reader may see them.
 */
import { composeMail, type ComposedMail, type MailPart } from '../../mail-template.ts'
import { nameInMail, titleInMail } from '../../mail-text.ts'
import { linkOf, statusOf, summaryLine, type MessageItem } from './render.ts'

const SUBJECT_MAX = 160

export type MailContext = {
  readonly appUrl: URL
  readonly unsubscribeUrl: string
  readonly organization: string
  /** Titles of tickets and names of integrations, by id: of those that the reader may see. */
  readonly titles: ReadonlyMap<string, string>
  /** Whether it goes to an address that the organization connected, and not to a member. */
  readonly isIntegration: boolean
}

export function notificationMail(items: readonly MessageItem[], context: MailContext): ComposedMail {
  const organization = nameInMail(context.organization)
  const [first] = items
  const title = items.length === 1 ? titleOf(first!, context) : undefined
  const heading = items.length === 1 ? summaryLine(first!) : `${items.length} notifications`
  const about = title ?? (items.length === 1 ? referenceOf(first!) : undefined)
  const subject = `[${organization}] ${heading}${about === undefined ? '' : `: ${about}`}`
  return composeMail({
    subject: [...subject].slice(0, SUBJECT_MAX).join(''),
    heading,
    parts:
      items.length === 1
        ? single(first!, title, organization, context)
        : digest(items, organization, context),
    footer: context.isIntegration
      ? `“${organization}” on svc sends these notifications to this address.`
      : `You received this email because you are subscribed to it in “${organization}” on svc.`,
    footerLink: { label: 'Unsubscribe', url: context.unsubscribeUrl },
  })
}

const single = (
  item: MessageItem,
  title: string | undefined,
  organization: string,
  { appUrl }: MailContext,
): MailPart[] => [
  ...(title === undefined ? [] : [{ quote: title }]),
  { text: [organization, referenceOf(item), statusOf(item), timeOf(item)].join(' · ') },
  { button: 'Open', url: linkOf(item, appUrl) },
]

function digest(items: readonly MessageItem[], organization: string, context: MailContext): MailPart[] {
  return [
    { text: `What happened in “${organization}”:` },
    ...items.map((item): MailPart => {
      const title = titleOf(item, context)
      return {
        item: summaryLine(item),
        about: [
          ...(title === undefined ? [] : [title]),
          [referenceOf(item), statusOf(item), timeOf(item)].join(' · '),
        ],
        url: linkOf(item, context.appUrl),
      }
    }),
  ]
}

function titleOf({ data }: MessageItem, { titles }: MailContext): string | undefined {
  const title = titles.get(data['ticket_id'] ?? data['integration_id'] ?? '')
  return title === undefined ? undefined : titleInMail(title)
}

/** The id of what it is about, without its kind: `tkt_…`. */
const referenceOf = ({ subject }: MessageItem): string => subject.split('/').at(-1)!

const timeOf = ({ occurredAt }: MessageItem): string =>
  `${occurredAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`
