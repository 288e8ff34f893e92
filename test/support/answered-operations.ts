/** Which operations the systems of this process answered well: they say so themselves, in their log. */
import { afterEach } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** Of a file: the operations that a system answered well while it ran. */
    operations?: string[]
  }
}

const ANSWERED = /"route":"(\w+)","method":"\w+","status":2/
const answered = new Set<string>()

export function noteLogLine(line: string): void {
  const name = ANSWERED.exec(line)?.[1]
  if (name !== undefined) answered.add(name)
}

/** For a setup file: what its test file brought goes to test/count-operations.ts. */
export function reportAnswered(): void {
  afterEach(({ task: { file } }) => {
    if (answered.size === 0) return
    file.meta.operations = [...new Set([...(file.meta.operations ?? []), ...answered])]
    answered.clear()
  })
}
