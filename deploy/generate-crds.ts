// The CRDs, made from the zod schemas in `api/`.
import { stringify } from 'yaml'
import { z } from 'zod'
import { type CrdExtensions, crdExtensions } from '../api/fields.ts'
import { type Definition, definitions, type Version } from './crd-definitions.ts'

type Json = Record<string, unknown>

function schemaOf(type: z.ZodType): Json {
  const json = z.toJSONSchema(type, {
    target: 'openapi-3.0',
    io: 'input',
    override: ({ zodSchema, jsonSchema }) =>
      extend(jsonSchema as Json, crdExtensions.get(zodSchema as unknown as z.ZodType)),
  })
  return structural(json)
}

function extend(schema: Json, extensions: CrdExtensions | undefined): void {
  if (extensions === undefined) return
  if (extensions.cel !== undefined) schema['x-kubernetes-validations'] = extensions.cel.map((entry) => ({ ...entry }))
  if (extensions.listType !== undefined) schema['x-kubernetes-list-type'] = extensions.listType
  if (extensions.listMapKeys !== undefined) schema['x-kubernetes-list-map-keys'] = [...extensions.listMapKeys]
  if (extensions.mapType !== undefined) schema['x-kubernetes-map-type'] = extensions.mapType
  if (extensions.required !== undefined)
    schema['required'] = [...((schema['required'] as string[] | undefined) ?? []), ...extensions.required]
  if (extensions.quantity === true) {
    delete schema['type']
    schema['anyOf'] = [{ type: 'integer' }, { type: 'string' }]
    schema['x-kubernetes-int-or-string'] = true
  }
}

/** What Kubernetes calls a structural schema: no closed objects, no names of properties, no bounds that only JavaScript's numbers need. */
function structural(value: unknown): Json {
  const visit = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(visit)
    if (node === null || typeof node !== 'object') return node
    const entries = Object.entries(node as Json).filter(([key, inner]) => !isDropped(key, inner))
    return Object.fromEntries(entries.map(([key, inner]) => [key, visit(inner)]))
  }
  return visit(value) as Json
}

function isDropped(key: string, value: unknown): boolean {
  if (key === '$schema' || key === 'propertyNames' || key === '~standard') return true
  if (key === 'additionalProperties' && value === false) return true
  return (
    (key === 'minimum' || key === 'maximum') && typeof value === 'number' && Math.abs(value) === Number.MAX_SAFE_INTEGER
  )
}

/** The API server asks Joiner's Service; Joiner itself enters its namespace and the CA bundle (workers/conversion). */
const conversion = {
  strategy: 'Webhook',
  webhook: {
    conversionReviewVersions: ['v1'],
    clientConfig: { service: { namespace: 'joiner', name: 'joiner-conversion', path: '/convert', port: 443 } },
  },
}

function versionOf(definition: Definition, version: Version): Json {
  const { name, storage, deprecationWarning, unserved, shape } = version
  const { spec, status, columns, scale } = shape ?? definition
  return {
    name,
    served: unserved !== true,
    storage,
    ...(deprecationWarning === undefined ? {} : { deprecated: true, deprecationWarning }),
    additionalPrinterColumns: columns,
    subresources: { status: {}, ...(scale === undefined ? {} : { scale }) },
    schema: {
      openAPIV3Schema: {
        description: definition.description,
        type: 'object',
        ...(definition.specOptional === true ? {} : { required: ['spec'] }),
        properties: {
          apiVersion: { type: 'string', description: `Group and version: ${definition.group}/VERSION.` },
          kind: { type: 'string', description: `The kind: ${definition.kind}.` },
          metadata: { type: 'object' },
          spec: schemaOf(spec),
          status: schemaOf(status),
        },
      },
    },
  }
}

function crd(definition: Definition): Json {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${definition.plural}.${definition.group}` },
    spec: {
      group: definition.group,
      names: {
        kind: definition.kind,
        listKind: `${definition.kind}List`,
        plural: definition.plural,
        singular: definition.kind.toLowerCase(),
        categories: definition.categories,
        ...(definition.shortNames === undefined ? {} : { shortNames: definition.shortNames }),
      },
      scope: definition.namespaced === true ? 'Namespaced' : 'Cluster',
      ...(definition.versions.some(({ shape }) => shape !== undefined) ? { conversion } : {}),
      versions: definition.versions.map((version) => versionOf(definition, version)),
    },
  }
}

/** Texts of the CRDs by path below `deploy/`: for kubectl, and for `joiner admin crds`, which the image has. */
export function crdFiles(): ReadonlyMap<string, string> {
  return new Map(
    definitions.map((definition): [string, string] => {
      const text = `# Generated from api/ by deploy/generate-crds.ts; edit the schemas there.\n${stringify(crd(definition), { aliasDuplicateObjects: false, lineWidth: 0 })}`
      const name = `${definition.group}_${definition.plural}.yaml`
      return [`crds/${name}`, text]
    }),
  )
}
