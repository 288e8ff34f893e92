/** `svc audit …`. */
import type { Argument, HandWritten } from '../command.ts'

const FILE: Argument = { name: 'file', summary: 'File of the export' }

export const AUDIT_ROWS: readonly HandWritten[] = [
  {
    path: 'audit export',
    summary: 'Export the audit trail and activity with their proofs (admin or higher)',
    arguments: [FILE],
    examples: ['svc audit export trail.ndjson'],
    load: async () => (await import('../commands/audit.ts')).exportTrail,
  },
  {
    path: 'audit verify',
    summary:
      'Verify an export or a receipt offline; exits 11 and names the first row that is not as it was sealed',
    arguments: [{ ...FILE, summary: 'File of the export, or a receipt as JSON' }],
    options: [
      { long: 'key', value: 'id', summary: 'The first key that you trust' },
      {
        long: 'roots',
        value: 'path',
        summary: 'Compare with roots that were kept: a file, or the folder TRAIL_ROOTS',
      },
    ],
    examples: [
      'svc audit verify trail.ndjson',
      'svc audit verify trail.ndjson --key 0123456789abcdef',
      'svc audit verify trail.ndjson --roots roots',
      'svc audit verify receipt.json',
    ],
    load: async () => (await import('../commands/audit.ts')).verifyTrail,
  },
]
