/**
 * The last look before a message leaves: whether its subscription, its connection and its reader are still there and may
 * still have it. What may not go is dropped with its reason; the rest is composed and handed to a channel.
 */
import { partIn } from '../apps/index.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { chatLinks, integrations, personalFollows, suppressions } from '../../../db/schema.ts'
import type { Channel, SendReason } from '../../contracts/deliveries.ts'
import { EVENTS, type EventType } from '../../contracts/events.ts'
import type { DISABLED_REASONS, IntegrationState } from '../../contracts/integrations.ts'
import { atLeast, type Role } from '../../contracts/roles.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import type { Log, Storage } from '../needs.ts'
import type { Channels, Outcome } from './channel.ts'
import type { SendKey } from './claim-sends.ts'
import { digestOf, openConnection, type ConnectionSecret } from './connection-secret.ts'
import { dropDeliveries, dropEmpty, putOff } from './drop.ts'
import { chatText, forumPost, mailText, personalText, thinOf, type Notice } from './render.ts'
import { signWebhook } from './sign-webhook.ts'
import { unsubscribeToken } from './unsubscribe-token.ts'

export type SendNeeds = Storage &
  Log & {
    readonly channels: Channels
    readonly dataKeys: DataKeys
    readonly appUrl: URL
    readonly siteUrl: URL
  }

export type ReadySend = SendKey & {
  readonly channel: Channel
  readonly integrationId: string | null
  /** Of a personal message: the workspace it goes through, and whose account it goes to. */
  readonly workspaceId: string | null
  readonly userId: string | null
  readonly isRepeatable: boolean
  deliver(): Promise<Outcome>
}

type Row = {
  readonly org_id: string
  readonly send_id: string
  readonly channel: Channel
  readonly user_id: string | null
  readonly subscription_id: string | null
  readonly id: string
  readonly event_id: string
  readonly app_id: string | null
  readonly type: string
  readonly subject: string
  readonly data: Record<string, string>
  readonly occurred_at: string
  readonly actor_id: string | null
  readonly app: string | null
  readonly integration_id: string | null
  readonly integration: {
    readonly state: IntegrationState
    readonly config: Record<string, string | number | boolean>
    readonly sealed: string
  } | null
  readonly subscription: {
    readonly enabled: boolean
    readonly disabled_reason: (typeof DISABLED_REASONS)[number] | null
  } | null
  /** As a member; the address only if it is verified. */
  readonly person: { readonly role: Role; readonly email: string | null } | null
}

/** A message, and the notices that it carries. */
type Letter = { readonly head: Row; readonly rows: readonly Row[] }
type Verdict = { readonly row: Row; readonly reason: SendReason | null }
/** How the notices that may go are sent. */
type Way = Pick<ReadySend, 'workspaceId' | 'isRepeatable'> & {
  readonly deliver: (notices: readonly Notice[]) => Promise<Outcome>
}
type Looked = { readonly verdicts: readonly Verdict[]; readonly way: Way | undefined }

export async function prepareSends(needs: SendNeeds, keys: readonly SendKey[]): Promise<ReadySend[]> {
  const letters = await readLetters(needs, keys)
  const ready: ReadySend[] = []
  const dropped: { orgId: string; id: string; reason: SendReason }[] = []
  const unreadable: SendKey[] = []
  for (const letter of letters) {
    const looked = await lookSafely(needs, letter)
    if (!looked) unreadable.push({ orgId: letter.head.org_id, id: letter.head.send_id })
    const { verdicts, way } = looked ?? { verdicts: [], way: undefined }
    for (const { row, reason } of verdicts) {
      if (reason !== null) dropped.push({ orgId: row.org_id, id: row.id, reason })
    }
    const notices = verdicts.filter(({ reason }) => reason === null).map(({ row }) => noticeOf(row))
    if (way && notices.length > 0) ready.push(readyOf(letter.head, way, notices))
  }
  await dropDeliveries(needs, dropped)
  await putOff(needs, unreadable)
  const found = new Set(letters.map(({ head }) => `${head.org_id} ${head.send_id}`))
  await dropEmpty(
    needs,
    keys.filter(({ orgId, id }) => !found.has(`${orgId} ${id}`)),
  )
  return ready
}

/** One that cannot be prepared (sealed under another DATA_KEY, say) must not keep the others from leaving. */
async function lookSafely(needs: SendNeeds, letter: Letter): Promise<Looked | undefined> {
  try {
    return await look(needs, letter)
  } catch (error) {
    needs.log.warn('a message cannot be prepared', { send: letter.head.send_id, error })
    return undefined
  }
}

const readyOf = (head: Row, way: Way, notices: readonly Notice[]): ReadySend => ({
  orgId: head.org_id,
  id: head.send_id,
  channel: head.channel,
  integrationId: head.integration_id,
  workspaceId: way.workspaceId,
  userId: head.user_id,
  isRepeatable: way.isRepeatable,
  deliver: () => way.deliver(notices),
})

const noticeOf = (row: Row): Notice => ({
  id: row.id,
  orgId: row.org_id,
  eventId: row.event_id,
  type: row.type,
  subject: row.subject,
  occurredAt: new Date(row.occurred_at),
  app: row.app,
  data: row.data,
})

/** Looked up one after the other and not joined: ten tables in one join take longer to plan than to read. */
async function readLetters({ db }: Storage, keys: readonly SendKey[]): Promise<Letter[]> {
  const rows = await db.execute<Row>(sql`
    select s.org_id, s.id as send_id, s.channel, s.user_id, s.subscription_id, s.integration_id,
      d.id, d.event_id, d.app_id, e.type, e.subject, e.data, e.occurred_at, e.actor_id,
      (select alias from apps where org_id = d.org_id and id = d.app_id) as app,
      (select to_json(i) from (select state, config, sealed from integrations
        where org_id = s.org_id and id = s.integration_id) i) as integration,
      (select to_json(u) from (select enabled, disabled_reason from subscriptions
        where org_id = s.org_id and id = s.subscription_id) u) as subscription,
      (select to_json(p) from (
        select m.role, case when u.email_verified_at is not null then u.email end as email
        from memberships m join users u on u.id = m.user_id
        where m.org_id = s.org_id and m.user_id = s.user_id) p) as person
    from json_to_recordset(${JSON.stringify(keys)}::text::json) as k("orgId" text, id text)
    cross join lateral (
      select * from sends where org_id = k."orgId" and id = k.id limit 1
    ) s
    cross join lateral (
      select * from deliveries where org_id = s.org_id and send_id = s.id and state in ('waiting', 'retrying') offset 0
    ) d
    cross join lateral (
      select * from events where org_id = d.org_id and id = d.event_id limit 1
    ) e
    order by s.seq, s.id, e.seq, d.id`)
  const letters = new Map<string, Row[]>()
  for (const row of rows) {
    const key = `${row.org_id} ${row.send_id}`
    letters.set(key, [...(letters.get(key) ?? []), row])
  }
  return [...letters.values()].map((all) => ({ head: all[0]!, rows: all }))
}

function look(needs: SendNeeds, letter: Letter): Promise<Looked> | Looked {
  switch (letter.head.channel) {
    case 'email':
      return lookAtMail(needs, letter)
    case 'direct_message':
      return lookAtPerson(needs, letter)
    default:
      return lookAtConnection(needs, letter)
  }
}

const all = ({ rows }: Letter, reason: SendReason): Looked => ({
  verdicts: rows.map((row) => ({ row, reason })),
  way: undefined,
})
const none = ({ rows }: Letter): readonly Verdict[] => rows.map((row) => ({ row, reason: null }))

/** What became of a connection is the reason for whatever was still on its way to it. */
const STOPPED: Record<IntegrationState, SendReason | null> = {
  active: null,
  off: 'connection_off',
  lost: 'connection_lost',
  gone: 'endpoint_gone',
  dead: 'endpoint_dead',
}

function whyNotSubscribed({ subscription }: Row): SendReason | null {
  if (subscription?.enabled) return null
  return subscription?.disabled_reason === 'connection_lost' ? 'connection_lost' : 'subscription_off'
}

function lookAtConnection(needs: SendNeeds, letter: Letter): Looked {
  const { head } = letter
  if (head.integration_id === null || head.integration === null) return all(letter, 'subscription_off')
  const reason = STOPPED[head.integration.state] ?? whyNotSubscribed(head)
  if (reason !== null) return all(letter, reason)
  const secret = openConnection(needs.dataKeys, {
    orgId: head.org_id,
    id: head.integration_id,
    sealed: head.integration.sealed,
  })
  if (head.channel === 'webhook') return { verdicts: none(letter), way: byWebhook(needs, head, secret) }
  if (head.channel === 'chat') {
    const deliver = (notices: readonly Notice[]) =>
      needs.channels.chatWebhook({ url: secret.url, text: chatText(notices, needs.appUrl) })
    return { verdicts: none(letter), way: { workspaceId: null, isRepeatable: false, deliver } }
  }
  return inForum(needs, letter, secret)
}

const byWebhook = ({ channels, clock }: SendNeeds, head: Row, { url }: ConnectionSecret): Way => ({
  workspaceId: null,
  isRepeatable: head.integration?.config['resend_on_unknown'] === true,
  async deliver(notices) {
    const body = JSON.stringify(notices.map(thinOf))
    const headers = {
      'X-Svc-Event-Count': String(notices.length),
      ...signWebhook({ url, body, id: head.send_id, at: clock() }),
    }
    return channels.webhook({ url, headers, body })
  },
})

/** contract, Events 9: in the name of whoever did it; where nobody did, nobody posts. */
function inForum({ channels, appUrl }: SendNeeds, letter: Letter, secret: ConnectionSecret): Looked {
  const { head } = letter
  const userId = head.actor_id
  const category = head.integration?.config['category']
  if (userId === null) return all(letter, 'no_acting_person')
  if (secret.apiKey === undefined || typeof category !== 'number') return all(letter, 'connection_off')
  const { url, apiKey } = secret
  return {
    verdicts: none(letter),
    way: {
      workspaceId: null,
      // The forum takes one post per id of ours, so a second try finds the first.
      isRepeatable: true,
      deliver: ([notice]) =>
        channels.forum({
          sendId: head.send_id,
          url,
          apiKey,
          category,
          userId,
          ...forumPost(notice!, appUrl),
        }),
    },
  }
}

async function lookAtMail(needs: SendNeeds, letter: Letter): Promise<Looked> {
  const { head } = letter
  const { db, channels, dataKeys, appUrl, siteUrl } = needs
  const off = whyNotSubscribed(head)
  if (off !== null) return all(letter, off)
  if (head.person === null) return all(letter, 'not_a_member')
  const { email: to } = head.person
  if (to === null) return all(letter, 'no_address')
  const { email: send } = channels
  if (send === null) return all(letter, 'no_mail_server')
  const [suppressed] = await db
    .select({ reason: suppressions.reason })
    .from(suppressions)
    .where(eq(suppressions.emailDigest, mailDigest(needs, to)))
  if (suppressed) return all(letter, 'address_suppressed')
  const token = unsubscribeToken(dataKeys.keyFor('unsubscribe'), {
    orgId: head.org_id,
    subscriptionId: head.subscription_id!,
  })
  const unsubscribeUrl = new URL(`/unsubscribe/${token}`, siteUrl).href
  const deliver = (notices: readonly Notice[]) =>
    send({
      sendId: head.send_id,
      to,
      ...mailText(notices, { appUrl, unsubscribeUrl }),
      threadKey: notices.length === 1 ? notices[0]!.subject : null,
      listId: `${notices[0]!.type.split('.').slice(0, -1).join('-')}.${head.org_id}`,
      unsubscribeUrl,
    })
  return {
    verdicts: letter.rows.map((row) => ({ row, reason: mayRead(row) ? null : 'no_longer_permitted' })),
    way: { workspaceId: null, isRepeatable: false, deliver },
  }
}

/** contract, Events 3 (d): of visits by support staff owners and admins are told, as long as they are that. */
const mayRead = ({ type, person }: Row): boolean => !type.startsWith('org.') || atLeast(person!.role, 'admin')

export const mailDigest = ({ dataKeys }: Pick<SendNeeds, 'dataKeys'>, email: string): string =>
  digestOf(dataKeys, email.toLowerCase())

/** A follower: still somebody to the app, still following that category, and with an account at the chat service. */
async function lookAtPerson(needs: SendNeeds, letter: Letter): Promise<Looked> {
  const { head } = letter
  if (head.person === null) return all(letter, 'not_a_member')
  const verdicts = await Promise.all(
    letter.rows.map(async (row) => ({ row, reason: await whyNotFollowing(needs, row) })),
  )
  if (verdicts.every(({ reason }) => reason !== null)) return { verdicts, way: undefined }
  const account = await chatAccountOf(needs, head.org_id, head.user_id!)
  if (typeof account === 'string') {
    return {
      verdicts: verdicts.map(({ row, reason }) => ({ row, reason: reason ?? account })),
      way: undefined,
    }
  }
  const { workspaceId, botToken, chatUserId } = account
  const deliver = (notices: readonly Notice[]) =>
    needs.channels.directMessage({
      sendId: head.send_id,
      botToken,
      chatUserId,
      text: personalText(notices, needs.appUrl),
    })
  return { verdicts, way: { workspaceId, isRepeatable: false, deliver } }
}

/** contract, Events 5: "re-checked at every send". */
async function whyNotFollowing({ db }: SendNeeds, row: Row): Promise<SendReason | null> {
  const [orgId, appId, userId] = [row.org_id, row.app_id!, row.user_id!]
  if ((await partIn(db, { orgId, appId, userId })) === null) return 'no_longer_permitted'
  const [follow] = await db
    .select({ categories: personalFollows.categories })
    .from(personalFollows)
    .where(
      and(
        eq(personalFollows.orgId, orgId),
        eq(personalFollows.userId, userId),
        eq(personalFollows.appId, appId),
      ),
    )
  const category = row.type in EVENTS ? EVENTS[row.type as EventType].category : null
  return category !== null && follow?.categories.includes(category) ? null : 'subscription_off'
}

type ChatAccount = { readonly workspaceId: string; readonly botToken: string; readonly chatUserId: string }

async function chatAccountOf(
  { db, dataKeys }: SendNeeds,
  orgId: string,
  userId: string,
): Promise<ChatAccount | SendReason> {
  const workspaces = await db
    .select()
    .from(integrations)
    .where(
      and(eq(integrations.orgId, orgId), eq(integrations.kind, 'chat'), eq(integrations.state, 'active')),
    )
    .orderBy(integrations.id)
  const installed = workspaces.filter(({ teamId }) => teamId !== null)
  if (installed.length === 0) return 'no_chat_workspace'
  const [link] = await db
    .select()
    .from(chatLinks)
    .where(and(eq(chatLinks.orgId, orgId), eq(chatLinks.userId, userId)))
  if (!link) return 'no_chat_account'
  if (link.inactiveAt !== null) return 'chat_account_inactive'
  for (const workspace of installed.filter(({ teamId }) => teamId === link.teamId)) {
    const { botToken } = openConnection(dataKeys, workspace)
    if (botToken !== undefined) return { workspaceId: workspace.id, botToken, chatUserId: link.chatUserId }
  }
  return 'no_chat_workspace'
}
