/** docs/errors.md: every code the system can answer with, and what to do about it. */
import { ERRORS } from '../../src/contracts/errors.ts'
import { table } from './table.ts'

export const errorsPage = (): string => `# Errors

<!-- Written by \`npm run generate\` from src/contracts/errors.ts. -->

Every failed request answers with one of these codes. The set is closed: a code that is not here does not occur.
OAuth endpoints keep the error names of their RFCs.

\`\`\`json
{
  "error": {
    "code": "INVALID_REQUEST",
    "message": "${ERRORS.INVALID_REQUEST.says}",
    "hint": "what to do next, where there is something to do",
    "problems": ["each thing that is wrong with the input"],
    "request_id": "also in the header x-request-id"
  }
}
\`\`\`

The message may be more precise than the sentence below; the code never changes its meaning. The exit code is that
of the command line.

${table(
  ['Code', 'Status', 'Exit', 'Says', 'What you can do', 'What the operator can do'],
  Object.entries(ERRORS).map(([code, { status, exit, says, user, operator }]) => [
    `\`${code}\``,
    String(status),
    String(exit),
    says,
    user,
    operator,
  ]),
)}
`
