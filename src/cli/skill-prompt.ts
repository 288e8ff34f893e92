/** What `svc --skill-prompt` prints: the working guide for an agent that is already at the command line. */
import { skillPrompt } from '../skills/prompt.ts'
import { readPublishedSkills } from '../skills/read-published.ts'

export const skillPromptText = (): string => skillPrompt(readPublishedSkills())
