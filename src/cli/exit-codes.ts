/** Exit codes that are no error of the call: it worked, and what it found is not well. Scripts must not repeat it. */
export const FOUND_FAILED = 11
