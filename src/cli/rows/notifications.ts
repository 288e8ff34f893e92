/** `svc notifications …`, where a command does more than one call or prints more than its answer. */
import type { HandWritten } from '../command.ts'
import { YES } from './shared.ts'

export const NOTIFICATION_ROWS: readonly HandWritten[] = [
  {
    path: 'notifications show',
    load: async () => (await import('../commands/notifications.ts')).showDelivery,
  },
  {
    path: 'notifications recover',
    options: [YES],
    load: async () => (await import('../commands/notifications.ts')).recover,
  },
  {
    path: 'notifications connect',
    summary: 'Connect an email address, a webhook or a chat channel (admin or higher)',
    arguments: [{ name: 'name', summary: 'Display name of the integration' }],
    options: [
      { long: 'url', value: 'url', summary: 'Webhook URL, or - to read it from stdin; treat it as a secret' },
      {
        long: 'email',
        value: 'address',
        summary: 'Email address; gets a link, and nothing before it is confirmed',
      },
      { long: 'chat', summary: 'The URL is the incoming webhook of a chat channel' },
    ],
    examples: [
      'svc notifications connect Receiver --url - < url.txt',
      'svc notifications connect "On call" --email oncall@example.com',
      'svc notifications connect "Team channel" --chat --url - < url.txt',
    ],
    load: async () => (await import('../commands/notifications.ts')).connect,
  },
]
