/** `svc agents …`, where a command does more than one call. */
import type { HandWritten } from '../command.ts'
import { YES } from './shared.ts'

export const AGENT_ROWS: readonly HandWritten[] = [
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
  {
    path: 'agents off',
    summary: 'Turn off access for all assistants (admin or higher)',
    options: [YES],
    examples: ['svc agents off --yes'],
    load: async () => (await import('../commands/agents.ts')).switchAgentsOff,
  },
  {
    path: 'agents on',
    summary: 'Turn access for assistants back on (admin or higher)',
    examples: ['svc agents on'],
    load: async () => (await import('../commands/agents.ts')).switchAgentsOn,
  },
]
