/** `svc agents …`, where a command does more than one call. */
import type { HandWritten } from '../command.ts'
import { YES } from './shared.ts'

export const AGENT_ROWS: readonly HandWritten[] = [
  {
    path: 'agents revoke',
    options: [
      {
        long: 'receipt',
        summary: 'Wait until no process writes for it any more, and print a signed receipt',
      },
      { long: 'dry-run', summary: 'With --receipt: end nothing, and show what would end' },
    ],
    examples: [
      'svc agents revoke grt_01k3v5j8e2q4r6t8w0y2a4c6e8 --yes',
      'svc agents revoke grt_01k3v5j8e2q4r6t8w0y2a4c6e8 --receipt --dry-run',
      'svc agents revoke grt_01k3v5j8e2q4r6t8w0y2a4c6e8 --receipt --yes --json > receipt.json',
    ],
    load: async () => (await import('../commands/receipts.ts')).revokeAgent,
  },
  {
    path: 'agents access end',
    load: async () => (await import('../commands/receipts.ts')).endAccess,
  },
  {
    path: 'agents provider',
    load: async () => (await import('../commands/identity-provider.ts')).showIdentityProvider,
  },
  {
    path: 'agents provider add',
    load: async () => (await import('../commands/identity-provider.ts')).createIdentityProvider,
  },
  {
    path: 'agents provider probe',
    load: async () => (await import('../commands/identity-provider.ts')).probeIdentityProvider,
  },
  {
    path: 'agents provider set-rules',
    options: [YES],
    load: async () => (await import('../commands/identity-provider.ts')).setIdentityProviderRules,
  },
  {
    path: 'agents provider preview',
    load: async () => (await import('../commands/identity-provider.ts')).previewIdentityProviderRules,
  },
]
