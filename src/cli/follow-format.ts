/** Output that goes on is text, or one JSON object a line. YAML has no such form that a program could read while it grows. */
import type { CommandContext } from './command-context.ts'
import { usageError } from './usage-error.ts'

export function refuseYaml({ settings }: CommandContext): void {
  if (settings.format === 'yaml')
    throw usageError('--follow conflicts with -o yaml', 'Use -o json, which prints one object a line')
}
