/** The part of the fake gateway with integrations, subscriptions, deliveries and the inbox. */
import type * as z from 'zod'
import * as deliveries from '../../src/contracts/deliveries.ts'
import { notFound, ServiceError } from '../../src/contracts/errors.ts'
import { EVENT_TYPES, EVENTS, matches, type EventType } from '../../src/contracts/events.ts'
import * as inbox from '../../src/contracts/inbox.ts'
import * as integrations from '../../src/contracts/integrations.ts'
import { atLeast, type Role } from '../../src/contracts/roles.ts'
import * as subscriptions from '../../src/contracts/subscriptions.ts'
import type { FakeContext } from './fake-data-sources.ts'
import type { Operation } from '../../src/contracts/operation.ts'

type Integration = z.output<typeof integrations.Integration>
type Subscription = z.output<typeof subscriptions.listSubscriptions.output>['subscriptions'][number]
type Mine = z.output<typeof subscriptions.listMySubscriptions.output>['subscriptions'][number]
type Follow = z.output<typeof subscriptions.listFollows.output>['follows'][number]
type Delivery = z.output<typeof deliveries.showDelivery.output>
type Entry = z.output<typeof inbox.listNotifications.output>['notifications'][number]
type ChatLink = z.output<typeof integrations.showChatLink.output>
type Recovery = z.output<typeof deliveries.recoverDeliveries.output>
type Summary = z.output<typeof deliveries.summarizeDeliveries.output>

export type FakeNotifications = ReturnType<typeof fakeNotifications>

export function fakeNotifications({ on, list, id, clock, me, organizationOf }: FakeContext) {
  const daysAgo = (days: number) => new Date(clock().getTime() - days * 86_400_000).toISOString()
  const data = {
    integrations: [] as Integration[],
    email: { ready: true, from: 'svc@northwind.example' as string | null },
    chatInstall: true,
    subscriptions: [] as Subscription[],
    mine: [] as Mine[],
    follows: [] as Follow[],
    deliveries: [] as Delivery[],
    days: [] as Summary['days'],
    inbox: [] as Entry[],
    chatLink: { workspace_connected: true, link: null } as ChatLink,
    /** What completing an install or a link is refused with. */
    refusal: undefined as ServiceError | undefined,
    tested: [] as string[],
    /** Integrations whose link was sent again. */
    verifications: [] as string[],
    replayed: [] as z.output<typeof deliveries.replayFailedDeliveries.input>[],
    retried: [] as string[],
    recoveries: [] as Recovery[],
    /** The organization named by each call of listDeliveries. */
    organizationsAsked: [] as (string | null)[],
  }

  const own = <I extends z.ZodObject, O extends z.ZodObject>(
    operation: Operation<I, O>,
    handle: (input: z.output<I>, asked: { org: string | null }) => unknown,
  ) =>
    on(operation, (input, asked) => {
      if (!atLeast(organizationOf(asked).role, operation.access as Role)) throw new ServiceError('FORBIDDEN')
      return handle(input, asked)
    })
  const found = <Row extends { id: string }>(rows: readonly Row[], wanted: string): Row => {
    const row = rows.find((one) => one.id === wanted)
    if (!row) throw notFound()
    return row
  }
  const given = <T extends object>(change: T) =>
    Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))

  const addIntegration = (
    kind: Integration['kind'],
    name: string,
    facts: Partial<Integration> = {},
  ): Integration => {
    const integration: Integration = {
      id: id('int'),
      kind,
      name,
      state: 'active',
      address: 'https://hooks.example.com/…c123',
      workspace: null,
      channel: null,
      category: null,
      resend_on_unknown: false,
      subscriptions: 0,
      failing_since: null,
      last_success_at: daysAgo(0.02),
      created_at: daysAgo(20),
      ...facts,
    }
    data.integrations.push(integration)
    return integration
  }
  const addSubscription = (
    pattern: string,
    to: Integration,
    facts: Partial<Subscription> = {},
  ): Subscription => {
    const subscription: Subscription = {
      id: id('sub'),
      pattern,
      timing: 'immediately',
      enabled: true,
      disabled_reason: null,
      is_default: false,
      last_delivery_at: daysAgo(0.1),
      created_at: daysAgo(10),
      channel: to.kind,
      integration: { id: to.id, name: to.name },
      created_by: me.id,
      ...facts,
    }
    to.subscriptions += 1
    data.subscriptions.push(subscription)
    return subscription
  }
  const addDelivery = (type: string, days: number, facts: Partial<Delivery> = {}): Delivery => {
    const deliveryId = id('dlv')
    const event_id = facts.event_id ?? id('evt')
    const at = daysAgo(days)
    const delivery: Delivery = {
      id: deliveryId,
      event_id,
      type,
      subject: 'tickets/tkt_1',
      app: 'billing',
      channel: 'webhook',
      destination: 'Operations desk',
      state: 'sent',
      reason: null,
      unconfirmed: false,
      attempts: 1,
      http_status: 204,
      duration_ms: 84,
      next_attempt_at: null,
      replay_of: null,
      created_at: at,
      settled_at: at,
      integration_id:
        data.integrations.find(({ name }) => name === (facts.destination ?? 'Operations desk'))?.id ?? null,
      timing: 'immediately',
      digest_of: 1,
      notification: {
        id: deliveryId,
        type,
        subject: 'tickets/tkt_1',
        timestamp: at,
        specversion: '1.0',
        source: '/orgs/org_1',
        time: at,
        data: { event_id, app: 'billing' },
      },
      attempts_made: [
        {
          number: 1,
          started_at: at,
          ended_at: at,
          outcome: 'sent',
          reason: null,
          http_status: 204,
          duration_ms: 84,
          carried_by: null,
          response: 'ok',
          request_headers: HEADERS,
        },
      ],
      ...facts,
    }
    data.deliveries.push(delivery)
    return delivery
  }
  const addInbox = (type: EventType, days: number, facts: Partial<Entry> = {}): Entry => {
    const entry: Entry = {
      id: id('ntf'),
      type,
      subject: 'tickets/tkt_1',
      summary: `billing: ${EVENTS[type].summary}`,
      url: 'http://localhost:4000/console/apps/billing',
      timestamp: daysAgo(days),
      read: false,
      read_at: null,
      ...facts,
    }
    data.inbox.push(entry)
    return entry
  }

  own(integrations.listIntegrations, () => ({
    integrations: data.integrations,
    email: data.email,
    chat_install: data.chatInstall,
  }))
  const connect = (
    kind: Integration['kind'],
    name: string,
    url: string,
    facts: Partial<Integration> = {},
  ) => {
    if (!url.startsWith('https://') || url.includes('//10.')) {
      throw new ServiceError('INVALID_REQUEST', undefined, {
        problems: ['url: must be an https address that does not lead into a private network'],
      })
    }
    if (url.endsWith('/taken')) throw new ServiceError('CONFLICT', 'This address is connected already')
    const { origin } = new URL(url)
    return addIntegration(kind, name, {
      address: `${origin}/…${url.slice(-4)}`,
      last_success_at: null,
      ...facts,
    })
  }
  own(integrations.connectEmail, ({ address, name }) => {
    if (address.endsWith('@full.example')) throw new ServiceError('RATE_LIMITED')
    return addIntegration('email', name ?? address.replace(/^(.).*@/, '$1…@'), {
      state: 'unverified',
      address: address.replace(/^(.).*@/, '$1…@'),
    })
  })
  own(integrations.sendAddressVerification, ({ integration_id }) => {
    data.verifications.push(found(data.integrations, integration_id).id)
    return {}
  })
  own(integrations.connectWebhook, ({ name, url, resend_on_unknown }) =>
    connect('webhook', name, url, { resend_on_unknown }),
  )
  own(integrations.connectChatWebhook, ({ name, url }) => connect('chat', name, url))
  own(integrations.beginChatInstall, () => ({ url: 'https://chat.example/oauth/v2/authorize?state=s1' }))
  own(integrations.completeChatInstall, () => {
    if (data.refusal) throw data.refusal
    return addIntegration('chat', '#general', { workspace: 'Northwind', channel: '#general' })
  })
  own(integrations.connectForum, ({ url, api_key }) => {
    if (api_key === 'single') {
      throw new ServiceError('INVALID_REQUEST', 'This key belongs to a single user', {
        hint: 'Make one for all users.',
      })
    }
    return connect('forum', 'Forum', url)
  })
  own(integrations.configureForum, ({ config }) => {
    const forum = data.integrations.find(({ kind }) => kind === 'forum')
    if (!forum) throw new ServiceError('CONFLICT', 'Connect the forum first')
    return Object.assign(forum, { category: config.category })
  })
  own(integrations.updateIntegration, ({ integration_id, url, address, enabled, ...change }) => {
    const integration = found(data.integrations, integration_id)
    if (url === 'http://10.0.0.1/') {
      throw new ServiceError('INVALID_REQUEST', undefined, {
        problems: ['url: must be an https address that does not lead into a private network'],
      })
    }
    return Object.assign(
      integration,
      given(change),
      address !== undefined && { state: 'unverified', address: address.replace(/^(.).*@/, '$1…@') },
      enabled !== undefined && { state: enabled ? 'active' : 'off' },
      url !== undefined && { state: 'active', address: `${new URL(url).origin}/…${url.slice(-4)}` },
    )
  })
  own(integrations.removeIntegration, ({ integration_id }) => {
    data.integrations.splice(data.integrations.indexOf(found(data.integrations, integration_id)), 1)
    data.subscriptions = data.subscriptions.filter(({ integration }) => integration.id !== integration_id)
    return {}
  })

  own(integrations.showChatLink, () => data.chatLink)
  own(integrations.beginChatLink, () => {
    if (!data.chatLink.workspace_connected)
      throw new ServiceError('CONFLICT', 'No chat workspace is connected')
    return { url: 'https://chat.example/openid/connect/authorize?state=s2' }
  })
  own(integrations.completeChatLink, () => {
    if (data.refusal) throw data.refusal
    const link = {
      workspace: 'Northwind',
      user_id: 'U1',
      display_name: 'ada',
      active: true,
      linked_at: daysAgo(0),
    }
    data.chatLink = { workspace_connected: true, link }
    return link
  })
  own(integrations.removeChatLink, () => {
    data.chatLink = { ...data.chatLink, link: null }
    return {}
  })

  own(subscriptions.listSubscriptions, ({ pattern, integration_id, enabled, ...page }) =>
    list(
      'subscriptions',
      data.subscriptions.filter(
        (one) =>
          one.pattern.includes(pattern ?? '') &&
          (!integration_id || one.integration.id === integration_id) &&
          (enabled === undefined || one.enabled === enabled),
      ),
      page,
    ),
  )
  own(subscriptions.createSubscription, ({ pattern, integration_id, timing }) => {
    const to = found(data.integrations, integration_id)
    if (data.subscriptions.some((one) => one.pattern === pattern && one.integration.id === to.id)) {
      throw new ServiceError('CONFLICT', 'This connection has this subscription already')
    }
    const made = addSubscription(pattern, to, { timing, last_delivery_at: null })
    const isKnown = EVENT_TYPES.some((type) => matches(pattern, type))
    return { ...made, notes: isKnown ? [] : ['No event of this type is defined.'] }
  })
  own(subscriptions.updateSubscription, ({ subscription_id, enabled, ...change }) =>
    Object.assign(
      found(data.subscriptions, subscription_id),
      given(change),
      enabled !== undefined && { enabled, disabled_reason: enabled ? null : 'paused' },
    ),
  )
  own(subscriptions.deleteSubscription, ({ subscription_id }) => {
    data.subscriptions.splice(data.subscriptions.indexOf(found(data.subscriptions, subscription_id)), 1)
    return {}
  })
  own(subscriptions.testSubscription, ({ subscription_id }) => {
    const { enabled } = found(data.subscriptions, subscription_id)
    if (!enabled) throw new ServiceError('CONFLICT', 'The subscription is paused')
    data.tested.push(subscription_id)
    return { event_id: id('evt') }
  })
  own(subscriptions.previewEventPattern, ({ pattern }) => {
    const types = EVENT_TYPES.filter((type) => matches(pattern, type)).map((type, at) => ({
      type,
      when: EVENTS[type].when,
      events: at * 4 + 1,
    }))
    const events = types.reduce((sum, one) => sum + one.events, 0)
    return { types, events, is_known: types.length > 0 }
  })
  own(subscriptions.listMySubscriptions, (page) => list('subscriptions', data.mine, page))
  own(subscriptions.updateMySubscription, ({ subscription_id, enabled }) =>
    Object.assign(found(data.mine, subscription_id), {
      enabled,
      disabled_reason: enabled ? null : 'unsubscribed',
    }),
  )
  own(subscriptions.listFollows, ({ following, ...page }) => {
    const rows = data.follows
      .filter(({ categories }) => !following || categories.length > 0)
      .map((row) => ({ ...row, id: row.app }))
    return { ...(list('follows', rows, page) as object), next_daily_at: '2026-11-16T08:00:00.000Z' }
  })
  own(subscriptions.setFollow, ({ alias, categories, frequency }) => {
    const follow = data.follows.find(({ app }) => app === alias)
    if (!follow) throw notFound()
    return Object.assign(follow, { categories, frequency })
  })

  type Filters = Omit<z.output<typeof deliveries.listDeliveries.input>, 'limit' | 'cursor' | 'missed'>
  const matching = (filters: Filters) =>
    data.deliveries
      .filter(
        (one) =>
          (!filters.type || matches(filters.type, one.type)) &&
          (!filters.state || one.state === filters.state) &&
          (!filters.reason || one.reason === filters.reason) &&
          (!filters.channel || one.channel === filters.channel) &&
          (!filters.integration_id ||
            data.integrations.some(
              ({ id, name }) => id === filters.integration_id && name === one.destination,
            )) &&
          (!filters.app || one.app === filters.app) &&
          (!filters.event_id || one.event_id === filters.event_id) &&
          (!filters.from || one.created_at >= filters.from) &&
          (!filters.to || one.created_at <= filters.to),
      )
      .toSorted((a, b) => b.created_at.localeCompare(a.created_at))
  own(deliveries.listDeliveries, ({ limit, cursor, missed, ...filters }, { org }) => {
    data.organizationsAsked.push(org)
    return list(
      'deliveries',
      matching(filters).filter((one) => !missed || isMissed(one)),
      { limit, cursor },
    )
  })
  const healthOf = (id: string | null) => {
    const own = data.deliveries.filter(
      (one) => one.channel !== null && one.integration_id === id && one.created_at >= daysAgo(7),
    )
    const recent = own.filter(({ created_at }) => created_at >= daysAgo(1))
    const count = (is: (one: Delivery) => boolean) => recent.filter(is).length
    const last = own.filter(isMissed).toSorted((a, b) => b.created_at.localeCompare(a.created_at))[0]
    const days = Map.groupBy(own, ({ created_at }) => created_at.slice(0, 10))
    return {
      last_24_hours: {
        sent: count(({ state }) => state === 'sent'),
        failed: count(({ state, unconfirmed }) => state === 'failed' && !unconfirmed),
        unconfirmed: count(({ unconfirmed }) => unconfirmed),
        retrying: count(({ state }) => state === 'retrying'),
        not_sent: count((one) => one.state === 'dropped' && isMissed(one)),
      },
      days: [...days].map(([day, all]) => ({
        day,
        sent: all.filter(({ state }) => state === 'sent').length,
        missed: all.filter(isMissed).length,
      })),
      last_failure: last
        ? {
            delivery_id: last.id,
            at: last.attempts_made.at(-1)?.started_at ?? last.created_at,
            reason: last.reason,
            http_status: last.http_status,
          }
        : null,
    }
  }
  const health = () => ({
    integrations: data.integrations.map((one) => ({
      ...one,
      next_attempt_at:
        data.deliveries.find(({ integration_id, state }) => integration_id === one.id && state === 'retrying')
          ?.next_attempt_at ?? null,
      ...healthOf(one.id),
    })),
    members: healthOf(null),
  })
  own(deliveries.listIntegrationHealth, health)
  own(deliveries.summarizeDeliveries, ({ health: withHealth }) => ({
    days: data.days,
    last_24_hours:
      data.days.length > 0
        ? { sent: 412, failed: 9, unconfirmed: 2, retrying: 3, not_sent: 1, p95_ms: 1_840 }
        : { sent: 0, failed: 0, unconfirmed: 0, retrying: 0, not_sent: 0, p95_ms: null },
    oldest_waiting_at: data.deliveries.find(({ state }) => state === 'waiting')?.created_at ?? null,
    ...(withHealth && { health: health() }),
  }))
  own(integrations.testIntegration, ({ integration_id }) => {
    const { name, state } = found(data.integrations, integration_id)
    if (state !== 'active') throw new ServiceError('CONFLICT', 'The integration is not active')
    const { id: delivery_id, event_id } = addDelivery('svc.test', 0, { destination: name, app: null })
    return { event_id, delivery_id }
  })
  own(deliveries.showDelivery, ({ delivery_id }) => found(data.deliveries, delivery_id))
  own(deliveries.replayDelivery, ({ delivery_id }) => {
    const old = found(data.deliveries, delivery_id)
    if (old.destination === 'Gone') throw new ServiceError('CONFLICT', 'The destination is gone')
    const again = addDelivery(old.type, 0, { ...old, id: id('dlv'), state: 'waiting', replay_of: old.id })
    return { id: again.id, replay_of: old.id }
  })
  own(deliveries.retryDelivery, ({ delivery_id }) => {
    const { id: retried, state } = found(data.deliveries, delivery_id)
    if (state !== 'waiting' && state !== 'retrying') {
      throw new ServiceError('CONFLICT', 'This delivery is not in progress')
    }
    data.retried.push(retried)
    return { id: retried, next_attempt_at: daysAgo(0) }
  })
  own(deliveries.recoverDeliveries, ({ integration_id, since, include_unconfirmed }) => {
    found(data.integrations, integration_id)
    if (data.recoveries.some(({ state }) => state === 'running')) {
      throw new ServiceError('CONFLICT', 'A recovery of this integration is running already')
    }
    const recovery: Recovery = {
      id: id('rcv'),
      integration_id,
      since,
      include_unconfirmed,
      state: 'running',
      queued: 0,
      created_at: daysAgo(0),
      ended_at: null,
    }
    data.recoveries.unshift(recovery)
    return recovery
  })
  own(deliveries.listRecoveries, ({ integration_id }) => ({
    recoveries: data.recoveries.filter((one) => one.integration_id === integration_id),
  }))
  own(deliveries.replayFailedDeliveries, (asked) => {
    data.replayed.push(asked)
    return { replayed: 7, more: false }
  })

  own(inbox.listNotifications, ({ state, type, since, ...page }) => {
    const rows = data.inbox
      .filter(
        (one) =>
          (state === 'all' || one.read === (state === 'read')) &&
          (!type || matches(type, one.type)) &&
          (!since || one.timestamp >= since),
      )
      .toSorted((a, b) => b.timestamp.localeCompare(a.timestamp))
    const unread_count = data.inbox.filter(({ read }) => !read).length
    return { ...(list('notifications', rows, page) as object), unread_count }
  })
  own(inbox.acknowledgeNotification, ({ notification_id }) => {
    const entry = Object.assign(found(data.inbox, notification_id), { read: true })
    entry.read_at ??= daysAgo(0)
    return entry
  })

  return { data, daysAgo, id, addIntegration, addSubscription, addDelivery, addInbox }
}

const isMissed = ({ state, reason, channel }: Delivery): boolean =>
  channel !== null &&
  (state === 'failed' ||
    state === 'retrying' ||
    (state === 'dropped' && reason !== null && !deliveries.NOT_SENT_BY_CHOICE.includes(reason)))

const HEADERS = {
  'content-type': 'application/json',
  'user-agent': 'svc/0.0.0',
  'X-Svc-Event-Count': '1',
  'X-Svc-Timestamp': '1794732000',
  'X-Svc-Signature': 'v1=…',
  'webhook-id': 'msg_00000000000000000000001',
  'webhook-timestamp': '1794732000',
  'webhook-signature': 'v1,…',
}

/** Integrations in every state, subscriptions, and a month of deliveries with every outcome. */
export function seedNotifications(notifications: FakeNotifications): void {
  const { data, daysAgo, id, addIntegration, addSubscription, addDelivery, addInbox } = notifications
  const desk = addIntegration('webhook', 'Operations desk', { resend_on_unknown: true })
  data.recoveries.push({
    id: id('rcv'),
    integration_id: desk.id,
    since: daysAgo(3),
    include_unconfirmed: true,
    state: 'done',
    queued: 1_204,
    created_at: daysAgo(2),
    ended_at: daysAgo(1.99),
  })
  const tickets = addIntegration('chat', '#tickets', {
    address: 'https://hooks.chat.example/…Qx4L',
    workspace: 'Northwind',
    channel: '#tickets',
  })
  const old = addIntegration('webhook', 'Old pager', { state: 'gone', failing_since: daysAgo(2) })
  const nightly = addIntegration('webhook', 'Nightly collector', { failing_since: daysAgo(0.4) })
  addIntegration('chat', '#deploys', { state: 'lost', address: 'https://chat.example/…9fK2' })
  addIntegration('webhook', 'Archive', { state: 'off', last_success_at: null })
  addIntegration('webhook', 'Test bench', { state: 'dead', failing_since: daysAgo(9) })
  addIntegration('email', 'On call', {
    state: 'unverified',
    address: 'o…@northwind.example',
    last_success_at: null,
  })
  const forum = addIntegration('forum', 'Forum', { address: 'https://forum.example.com/…', category: 7 })
  addSubscription('support.ticket.created', tickets, { is_default: true, created_by: null })
  addSubscription('pipeline.run.*', tickets, { is_default: true, created_by: null, timing: 'hourly' })
  addSubscription('application.check.*', desk)
  addSubscription('deploy.failed', nightly, { timing: 'daily', last_delivery_at: null })
  addSubscription('application.maintenance.proposal.created', forum)
  addSubscription('deploy.*', old, { enabled: false, disabled_reason: 'paused' })
  const mail = {
    timing: 'immediately',
    enabled: true,
    disabled_reason: null,
    is_default: true,
    last_delivery_at: daysAgo(3),
    created_at: daysAgo(60),
  } as const
  data.mine.push(
    { ...mail, id: id('sub'), pattern: 'org.support_access.*' },
    {
      ...mail,
      id: id('sub'),
      pattern: 'support.ticket.replied',
      enabled: false,
      disabled_reason: 'unsubscribed',
    },
  )
  const row = (app: string, name: string, facts: Partial<Follow> = {}): Follow => ({
    app,
    name,
    categories: [],
    frequency: 'immediately',
    last: null,
    ...facts,
  })
  const at = daysAgo(0.002)
  data.follows.push(
    row('billing', 'Billing', {
      categories: ['Checks', 'Tickets'],
      last: { outcome: 'delivered', reason: null, at, next_attempt_at: null },
    }),
    row('checkout', 'Checkout', {
      categories: ['Failed deploys'],
      frequency: 'hourly',
      last: { outcome: 'retrying', reason: 'rate_limited', at, next_attempt_at: daysAgo(-0.01) },
    }),
    row('intranet', 'Intranet'),
    row('warehouse-sync', 'Warehouse synchronization', {
      categories: ['Maintenance'],
      frequency: 'daily',
      last: { outcome: 'not_sent', reason: 'no_chat_account', at: daysAgo(1), next_attempt_at: null },
    }),
  )
  for (let days = 29; days >= 0; days -= 1) {
    data.days.push({
      day: daysAgo(days).slice(0, 10),
      sent: (days * 37) % 53,
      failed: days % 6 === 1 ? 7 : days % 3,
      dropped: days % 4,
      open: days === 0 ? 5 : 0,
    })
  }
  for (let number = 0; number < 46; number += 1) {
    const type = EVENT_TYPES[number % EVENT_TYPES.length]!
    addDelivery(type, 0.3 + number / 4, {
      app: number % 5 === 0 ? null : 'billing',
      ...(number % 3 === 1 ? { channel: 'chat' as const, destination: '#tickets' } : {}),
      ...(number % 7 === 3
        ? {
            state: 'dropped' as const,
            reason: 'no_chat_account' as const,
            attempts: 0,
            http_status: null,
            duration_ms: null,
          }
        : {}),
    })
  }
  addDelivery('deploy.failed', 0.25, {
    channel: null,
    destination: null,
    state: 'dropped',
    reason: 'matched_nobody',
    attempts: 0,
    http_status: null,
    attempts_made: [],
    duration_ms: null,
    timing: null,
  })
  seedAttempts(notifications)
  addInbox('support.ticket.created', 0.01)
  addInbox('deploy.failed', 0.2, { summary: 'checkout: a deployment failed', subject: 'deployments/dep_7' })
  addInbox('application.check.recovered', 0.8, { url: null })
  addInbox('support.ticket.replied', 2, { read: true, read_at: daysAgo(1.9) })
}

/** A retrying, an unconfirmed, a waiting and a failed delivery. */
function seedAttempts({ daysAgo, addDelivery }: FakeNotifications): void {
  const tried = (number: number, days: number, http_status: number | null, duration_ms: number) => ({
    number,
    started_at: daysAgo(days),
    ended_at: daysAgo(days - duration_ms / 86_400_000),
    outcome: 'failed' as const,
    reason: http_status === null ? ('not_reached' as const) : ('server_error' as const),
    http_status,
    duration_ms,
    carried_by: null,
    response: http_status === null ? null : '<h1>Service temporarily unavailable</h1>',
    request_headers: HEADERS,
  })
  addDelivery('pipeline.run.failed', 0.2, {
    state: 'retrying',
    reason: 'server_error',
    attempts: 4,
    http_status: 500,
    duration_ms: 210,
    destination: 'Nightly collector',
    next_attempt_at: daysAgo(-0.05),
    settled_at: null,
    attempts_made: [
      tried(1, 0.2, 503, 190),
      tried(2, 0.19994, null, 5_000),
      tried(3, 0.1965, 503, 240),
      tried(4, 0.175, 500, 210),
    ],
  })
  addDelivery('deploy.failed', 0.15, {
    state: 'failed',
    reason: 'outcome_unknown',
    unconfirmed: true,
    http_status: null,
    duration_ms: null,
    attempts_made: [
      {
        number: 1,
        started_at: daysAgo(0.15),
        ended_at: null,
        outcome: 'failed',
        reason: 'outcome_unknown',
        http_status: null,
        duration_ms: null,
        carried_by: null,
        response: null,
        request_headers: HEADERS,
      },
    ],
  })
  addDelivery('application.check.failed', 0.05, {
    state: 'waiting',
    attempts: 0,
    http_status: null,
    duration_ms: null,
    timing: 'hourly',
    next_attempt_at: daysAgo(-0.01),
    settled_at: null,
    digest_of: 3,
    attempts_made: [],
  })
  addDelivery('application.check.error', 6, {
    state: 'failed',
    reason: 'gave_up',
    attempts: 10,
    http_status: 503,
    destination: 'Nightly collector',
    attempts_made: [6, 5.99994, 5.996, 5.975, 5.89, 5.68, 5.26, 4.68, 3.85, 2.85].map((days, at) =>
      tried(at + 1, days, at % 3 === 1 ? null : 503, 300 + at * 40),
    ),
  })
}
