// The rights of `api/rights/rights.ts`, as a template of the chart and as a table of docs/rights.md.
import { type Grantee, type Right, type RightCondition, rights } from '../api/rights/rights.ts'
import { alignedTable } from './marked-table.ts'

/** Values under which the chart grants a right that is not always granted. */
const conditions: Readonly<Record<RightCondition, { readonly template: string; readonly words: string }>> = {
  defaultSpread: {
    template: 'include "joiner.hasDefaultSpread" .',
    words: '`settings.schedulerConfig` has default spread constraints',
  },
  overlays: {
    template: 'include "joiner.hasGate" (list . "NodeOverlay")',
    words: '`settings.featureGates.nodeOverlay` is true',
  },
  buffers: {
    template: 'include "joiner.hasGate" (list . "CapacityBuffer")',
    words: '`settings.featureGates.capacityBuffer` is true',
  },
  dnsServiceIpUnset: { template: 'include "joiner.readsDnsService" .', words: '`azure.dnsServiceIp` is not set' },
  localDnsPreferred: {
    template: 'include "joiner.readsNetworkPolicies" .',
    words: 'Kubernetes 1.99 or newer, and `azure.networkPolicy` is cilium or calico',
  },
  bundledTemporal: { template: 'include "joiner.runsTemporal" .', words: '`temporal.address` is empty' },
  uiEnabled: { template: '.Values.ui.enabled', words: '`ui.enabled` is true' },
}

/** Annotations of what exists only while a Job of the chart runs, in the words of Helm's templates. */
const duringHooks = `(dict "helm.sh/hook" "pre-install,pre-upgrade,pre-delete" "helm.sh/hook-weight" "-20" "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded,hook-failed")`

/** Values under which a role is there at all. */
const roleConditions: Partial<Readonly<Record<Grantee, string>>> = {
  crds: '.Values.crds.manage',
  ui: conditions.uiEnabled.template,
}

const forPeople: ReadonlySet<Grantee> = new Set(['view', 'edit', 'admin'])

/** The chart's Roles and ClusterRoles. */
export function rightsTemplate(): string {
  const documents = [...Map.groupBy(rights, ({ to, where }) => `${to} ${where}`).values()].map(roleDocument)
  return `# Generated from api/rights/rights.ts by deploy/generate-rights.ts; edit the rights there.\n${documents.join('---\n')}`
}

function roleDocument(granted: readonly Right[]): string {
  const [{ to, where } = unreachable()] = granted
  const own = where === 'own' ? ['  namespace: {{ .Release.Namespace }}'] : []
  const place = where === 'kube-system' ? ['  namespace: kube-system'] : own
  // Joiner may be installed in kube-system itself.
  const name = where === 'kube-system' ? `joiner-${to}-kube-system` : `joiner-${to}`
  const labels = forPeople.has(to) ? ` (dict "rbac.authorization.k8s.io/aggregate-to-${to}" "true")` : ''
  const more = to === 'crds' ? ` dict ${duringHooks}` : labels
  const lines = [
    'apiVersion: rbac.authorization.k8s.io/v1',
    `kind: ${where === 'cluster' ? 'ClusterRole' : 'Role'}`,
    'metadata:',
    `  name: ${name}`,
    ...place,
    `  {{- include "joiner.metadata" (list .${more}) | nindent 2 }}`,
    'rules:',
    ...granted.flatMap(ruleLines),
  ]
  const only = roleConditions[to]
  return [...(only === undefined ? lines : [`{{- if ${only} }}`, ...lines, '{{- end }}']), ''].join('\n')
}

function ruleLines({ group, resources, names, verbs, why, when }: Right): readonly string[] {
  const list = (texts: readonly string[]) => `[${texts.map((text) => (text === '' ? '""' : text)).join(', ')}]`
  const lines = [
    `  # ${why}`,
    `  - apiGroups: ${list([group])}`,
    `    resources: ${list(resources)}`,
    ...(names === undefined ? [] : [`    resourceNames: ${list(names)}`]),
    `    verbs: ${list(verbs)}`,
  ]
  return when === undefined ? lines : [`  {{- if ${conditions[when].template} }}`, ...lines, '  {{- end }}']
}

function unreachable(): never {
  throw new Error('a group without rights')
}

const columns = ['Role', 'Where', 'Resources', 'Verbs', 'Why'] as const

/** The table of docs/rights.md, its columns aligned as the formatter wants them. */
export function rightsTable(): string {
  const rows = rights.map((right) => [...rightCells(right), whyText(right)])
  return alignedTable(columns, rows)
}

/** The cells of a right in the table, without its reason. */
export function rightCells({
  to,
  where,
  group,
  resources,
  names,
  verbs,
}: Pick<Right, 'to' | 'where' | 'group' | 'resources' | 'names' | 'verbs'>): readonly string[] {
  const what = resources.map((resource) => `\`${resource}${group === '' ? '' : `.${group}`}\``).join(', ')
  const only = names === undefined ? '' : `: ${shortened(names)}`
  return [to, where === 'own' ? 'own namespace' : where, `${what}${only}`, verbs.join(', ')]
}

/** Names that end in consecutive numbers are given by the first and the last. */
function shortened(names: readonly string[]): string {
  const runs = Map.groupBy(names, (name) => name.replace(/\d+$/, ''))
  return [...runs.values()].map((run) => (run.length > 2 ? `${run[0]} to ${run.at(-1)}` : run.join(', '))).join(', ')
}

function whyText({ why, when }: Right): string {
  return when === undefined ? why : `${why}; only where ${conditions[when].words}`
}
