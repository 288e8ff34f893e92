/** What needs the reader: failing integrations, proposals, troubled data sources, unread notifications, an address. */
import { html } from 'hono/html'
import { icon, type IconName } from '../../../pages/icons.ts'
import { card, type Content } from '../../../pages/parts.ts'
import { exactTime } from '../../components.ts'
import { plural } from '../../format.ts'
import { INBOX } from '../../navigation.ts'
import { pathOf as sourcePath } from '../data-sources/source-labels.ts'
import { INTEGRATIONS_PATH, pathOf } from '../integrations/integration-labels.ts'
import { QUEUE_PATH } from '../maintenance/maintenance-labels.ts'
import type { Facts } from './facts.ts'

type Need = { href: string; label: string; why: Content; icon: IconName; isUrgent: boolean }

export function attentionCard(facts: Facts) {
  const items = [
    ...failingIntegrations(facts.integrations ?? []),
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

type Integrations = NonNullable<Facts['integrations']>

function failingIntegrations(all: Integrations): Need[] {
  const failing = all.filter(({ isFailing }) => isFailing)
  const more = failing.length - LISTED_MAX
  return [
    ...failing.slice(0, LISTED_MAX).map((one) => ({
      href: pathOf(one),
      label: one.state === 'unverified' ? `${one.name} is not confirmed` : `${one.name} is failing`,
      why: whyFailing(one),
      icon: 'alert' as const,
      isUrgent: one.state !== 'unverified',
    })),
    ...(more > 0
      ? [
          {
            href: INTEGRATIONS_PATH,
            label: `${plural(more, 'more integration')} failing`,
            why: 'Their events wait or are dropped.',
            icon: 'alert' as const,
            isUrgent: true,
          },
        ]
      : []),
  ]
}

function whyFailing({ state, failing_since }: Integrations[number]): Content {
  switch (state) {
    case 'unverified':
      return 'Nobody has confirmed the email address, so nothing is sent to it.'
    case 'lost':
      return 'The service no longer accepts messages. Nothing is sent.'
    case 'gone':
      return 'The receiver answered that the address is gone. Nothing is sent.'
    case 'dead':
      return 'It failed for days, so delivery was stopped.'
    case 'active':
    case 'off':
      return failing_since === null
        ? 'Its last message failed.'
        : html`Messages have failed since ${exactTime(failing_since)}.`
  }
}

const troubledSources = (troubled: Facts['sources']['troubled']): Need[] =>
  troubled.slice(0, LISTED_MAX).map(({ source_id, name, problem }) => ({
    href: sourcePath(source_id),
    label: `${name} has a problem`,
    why: problem,
    icon: 'database',
    isUrgent: true,
  }))

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
