/** Finds what a contract says of a command: for those with code of their own, whose options or table are declared, too. */
import type { Declared } from './operation-call.ts'
import { OPERATION_CALLS } from './operation-calls.ts'
import { OPERATION_COMMANDS } from './operation-commands.ts'

export const declared = (path: string): Declared => ({
  command: OPERATION_COMMANDS.find((command) => command.path === path)!,
  call: OPERATION_CALLS[path]!,
})
