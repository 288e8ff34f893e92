/** What needs the reader: failing checks and integrations, proposals, troubled data sources, unread notifications, an address. */
import { html } from 'hono/html'
import { icon, type IconName } from '../../../pages/icons.ts'
import { card, type Content } from '../../../pages/parts.ts'
import { exactTime } from '../../components.ts'
import { plural } from '../../format.ts'
import { INBOX } from '../../navigation.ts'
import { pathOf as sourcePath, SOURCES_PATH } from '../data-sources/source-labels.ts'
import { APPS_PATH } from '../apps/app-labels.ts'
import { DELIVERIES_PATH, failureWords } from '../deliveries/delivery-labels.ts'
import { conditionOf, isFailing } from '../deliveries/integration-condition.ts'
import { pathOf } from '../integrations/integration-labels.ts'
import { incidentPath } from '../incidents/incident-labels.ts'
import { QUEUE_PATH } from '../maintenance/maintenance-labels.ts'
import type { Facts } from './facts.ts'

type Need = { href: string; label: string; why: Content; icon: IconName; isUrgent: boolean }

export function attentionCard(facts: Facts) {
  const items = [
    ...failingChecks(facts.failingChecks),
    ...failingIntegrations(facts.integrations?.filter(isFailing) ?? []),
    ...unconfirmedIntegrations(facts.integrations ?? []),
    ...troubledSources(facts.sources.troubled),
    ...rest(facts),
  ]
  return card(
    'Needs your attention',
    items.length === 0
      ? html`<p class="all-well">${icon('check')} Nothing right now.</p>`
      : html`<ul class="needs">${items.map(
          ({ href, label, why, icon: name, isUrgent }) =>
            html`<li class="${isUrgent ? 'need need-urgent' : 'need'}">${icon(name)}<div><a href="${href}">${label}</a><p class="note">${why}</p></div></li>`,
        )}</ul>`,
  )
}

/** The page with all of them has the rest. */
const LISTED_MAX = 3

const failingChecks = (failing: Facts['failingChecks']): Need[] => [
  ...failing.slice(0, LISTED_MAX).map(({ id, name, app }) => ({
    href: incidentPath(app.alias, id),
    label: `“${name}” is failing`,
    why: `A check of ${app.name}.`,
    icon: 'alert' as const,
    isUrgent: true,
  })),
  ...more(failing, {
    href: APPS_PATH,
    label: (count) => `${plural(count, 'more check')} failing`,
    why: 'The apps say which.',
    icon: 'alert',
  }),
]

type Integration = NonNullable<Facts['integrations']>[number]

const failingIntegrations = (failing: readonly Integration[]): Need[] => [
  ...failing.slice(0, LISTED_MAX).map((one) => ({
    href: pathOf(one),
    label: conditionOf(one) === 'never' ? `${one.name} never worked` : `${one.name} is failing`,
    why: whyFailing(one),
    icon: 'alert' as const,
    isUrgent: true,
  })),
  ...more(failing, {
    href: DELIVERIES_PATH,
    label: (count) => `${plural(count, 'more integration')} failing`,
    why: 'Their events wait or are dropped.',
    icon: 'alert',
  }),
]

type More = { href: string; label: (count: number) => string; why: string; icon: IconName }

const more = (all: readonly unknown[], { label, ...need }: More): Need[] =>
  all.length > LISTED_MAX ? [{ ...need, label: label(all.length - LISTED_MAX), isUrgent: true }] : []

const unconfirmedIntegrations = (all: readonly Integration[]): Need[] =>
  all
    .filter(({ state }) => state === 'unverified')
    .slice(0, LISTED_MAX)
    .map((one) => ({
      href: pathOf(one),
      label: `${one.name} is not confirmed`,
      why: 'Nobody has confirmed the email address, so nothing is sent to it.',
      icon: 'alert',
      isUrgent: false,
    }))

function whyFailing({ state, failing_since, last_failure }: Integration): Content {
  if (state === 'lost') return 'The service no longer accepts messages. Nothing is sent.'
  if (state === 'gone') return 'The receiver answered that the address is gone. Nothing is sent.'
  if (state === 'dead') return 'It failed for days, so delivery was stopped.'
  if (failing_since !== null) return html`Messages have failed since ${exactTime(failing_since)}.`
  return last_failure === null
    ? 'Nothing arrived in the last 24 hours.'
    : html`Nothing arrived in the last 24 hours: ${failureWords(last_failure)}.`
}

const troubledSources = (troubled: Facts['sources']['troubled']): Need[] => [
  ...troubled.slice(0, LISTED_MAX).map(({ source_id, name, problem }) => ({
    href: sourcePath(source_id),
    label: `${name} has a problem`,
    why: problem,
    icon: 'database' as const,
    isUrgent: true,
  })),
  ...more(troubled, {
    href: SOURCES_PATH,
    label: (count) => `${plural(count, 'more data source')} with problems`,
    why: 'The list says which.',
    icon: 'database',
  }),
]

function rest({ toReview, unread, profile }: Facts): Need[] {
  const { email_verified, receives_mail, can_verify_email } = profile
  const items: (Need | false)[] = [
    toReview === 'unavailable' && {
      href: QUEUE_PATH,
      label: 'Proposals are unavailable',
      why: 'The service that keeps them does not answer right now.',
      icon: 'alert',
      isUrgent: true,
    },
    toReview !== 'unavailable' &&
      toReview > 0 && {
        href: QUEUE_PATH,
        label: `${plural(toReview, 'proposal')} to review`,
        why: 'Changes that the maintenance agent proposes. A person decides.',
        icon: 'branches',
        isUrgent: false,
      },
    unread > 0 && {
      href: INBOX,
      label: plural(unread, 'unread notification'),
      why: 'About the apps you follow, and about this organization.',
      icon: 'inbox',
      isUrgent: false,
    },
    !email_verified &&
      !receives_mail && {
        href: '/console/profile',
        label: 'Add your email address',
        why: can_verify_email
          ? 'No mail can reach the address you sign in with. Add a real one, and confirm it by the link we send.'
          : 'No mail can reach the address you sign in with. Once the operator has set up a mail server, add a real one.',
        icon: 'person',
        isUrgent: false,
      },
    !email_verified &&
      receives_mail &&
      can_verify_email && {
        href: '/console/profile',
        label: 'Verify your email address',
        why: 'Makes sure that messages about your account reach you.',
        icon: 'person',
        isUrgent: false,
      },
  ]
  return items.filter((need) => need !== false)
}
