import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { rights } from './rights.ts'

interface Role {
  readonly kind?: string
  readonly metadata?: { readonly namespace?: string }
  readonly rules?: readonly {
    readonly apiGroups: readonly string[]
    readonly resources: readonly string[]
    readonly resourceNames?: readonly string[]
    readonly verbs: readonly string[]
  }[]
}

/** The rules of the chart's roles. In their places its templates have nothing but texts. */
function granted(): readonly string[] {
  const template = readFileSync(new URL('../../deploy/chart/templates/rbac.yaml', import.meta.url), 'utf8')
  const documents = parseAllDocuments(template.replaceAll(/\{\{.*?\}\}/g, 'own'))
  return documents
    .map((document) => document.toJS() as Role)
    .filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole')
    .flatMap(({ metadata, rules = [] }) =>
      rules.flatMap(({ apiGroups, resources, resourceNames = [], verbs }) =>
        apiGroups.map((group) => JSON.stringify([metadata?.namespace ?? '', group, resources, resourceNames, verbs])),
      ),
    )
}

test('joiner doctor asks for the rights of the chart: a rule that is added to one is added to the other', () => {
  const asked = rights.map(({ namespace = '', group, resources, names = [], verbs }) =>
    JSON.stringify([namespace, group, resources, names, verbs]),
  )
  expect(new Set(asked)).toEqual(new Set(granted()))
  expect(asked.length).toBeGreaterThan(20)
})
