/** What connecting a channel asks of the outside, answered as a test wants it. */
import type { ChatApp, IntegrationChecks } from '../../src/cores/notifications/index.ts'
import type { GitHosts } from '../../src/cores/remotes/index.ts'

/** Everything under `.test` is public; keys say themselves what they are. */
export const fakeChecks: IntegrationChecks = {
  isAllowed: async (url) => URL.canParse(url) && /^https:\/\/[^/]+\.test(:\d+)?(\/|$)/.test(url),
  forumKey: async ({ apiKey }) =>
    apiKey === 'single'
      ? 'single_user'
      : apiKey === 'down'
        ? 'not_reached'
        : apiKey === 'bad'
          ? 'refused'
          : 'all_users',
}

/** Every token fits, and nothing is ever opened. */
export const fakeGitHosts: GitHosts = {
  check: async () => ({ kind: 'fits', excess: [], isPublic: false }),
  open: async () => ({ kind: 'failed', code: 'REMOTE_UNREACHABLE' }),
  look: async () => ({ kind: 'failed', code: 'REMOTE_UNREACHABLE' }),
}

/** A code says who comes back: `team/user/name` for a person, `team/channel` for an installation. */
export const fakeChatApp: ChatApp = {
  installUrl: (state) => `https://chat.test/install?state=${state}`,
  async install(code) {
    if (code === 'refused') return undefined
    if (code === 'down') throw new Error('no answer')
    const [teamId = '', channel = '', generation = '1'] = code.split('/')
    const webhookUrl = `https://hooks.chat.test/services/${teamId}/${channel.slice(1)}/${generation}secret`
    return {
      teamId,
      teamName: `Team ${teamId}`,
      channel,
      webhookUrl,
      botToken: `bot-${teamId}-${generation}`,
    }
  },
  linkUrl: ({ state, nonce, teamId }) =>
    `https://chat.test/link?state=${state}&nonce=${nonce}&team=${teamId}`,
  async identify({ code }) {
    if (code === 'refused') return undefined
    const [teamId = '', chatUserId = '', displayName = ''] = code.split('/')
    return { teamId, chatUserId, displayName }
  },
}

export const stateIn = (url: string): string => new URL(url).searchParams.get('state')!
