exports.log = (level, message) => process.stdout.write(`${JSON.stringify({ level, message })}\n`)
