// Writes what follows from `api/` and from the chart: the CRDs, the chart's admission warnings, the chart's and the documentation's lists of rights, and the
// documentation of its values. With `--check` it only compares.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { admissionPolicyTemplate } from './generate-admission-policy.ts'
import { crdFiles } from './generate-crds.ts'
import { rightsTable, rightsTemplate, withTable } from './generate-rights.ts'
import { valuesPage } from './generate-values.ts'

const here = dirname(fileURLToPath(import.meta.url))
const securityPage = '../docs/security.md'

function main(): void {
  const files = new Map([
    ...crdFiles(),
    ['chart/templates/admission-policy.yaml', admissionPolicyTemplate()],
    ['chart/templates/rights.yaml', rightsTemplate()],
    ['../docs/values.md', valuesPage(readText('chart/values.schema.json'), readText('chart/values.yaml'))],
    [securityPage, withTable(readText(securityPage), rightsTable())],
  ])
  const differing: string[] = []
  for (const [name, text] of files) {
    const path = join(here, name)
    if (process.argv.includes('--check')) {
      if (read(path) !== text) differing.push(path)
    } else {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
  }
  if (differing.length === 0) return
  console.error(`not what api/ and the chart say; run "npm run generate":\n${differing.join('\n')}`)
  process.exitCode = 1
}

function readText(name: string): string {
  return readFileSync(join(here, name), 'utf8')
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

main()
