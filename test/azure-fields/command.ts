// Writes docs/reference/azure-api-fields.md; with `--check` it only compares. Fails for what the models of an API version do not have.
import { readFileSync, writeFileSync } from 'node:fs'
import { judge, problemsOf } from './judge.ts'
import { pageOf } from './page.ts'
import { writesOf } from './requests.ts'

const path = new URL('../../docs/reference/azure-api-fields.md', import.meta.url)
const own = judge(await writesOf())
const later = judge(await writesOf('Microsoft.Compute/virtualMachines=2025-11-01'))
const page = pageOf(own, later)
const problems = [...problemsOf(own), ...problemsOf(later)]
if (!process.argv.includes('--check')) writeFileSync(path, page)
else if (readFileSync(path, 'utf8') !== page)
  problems.push('docs/reference/azure-api-fields.md is not what the sources say; run "npm run generate"')
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
