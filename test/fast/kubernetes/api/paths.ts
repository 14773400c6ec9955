import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import { type ResourceName, resourcePath } from '../../../../activities/kubernetes/client/resources.ts'

/** What a request's URL names. */
export interface Target {
  /** Plural name of the resource. */
  readonly resource: string
  /** Path of the list: of one namespace, or of all. */
  readonly list: string
  /** Path of the object; undefined: the list is meant. */
  readonly path?: string
  readonly namespace?: string
  readonly name?: string
  readonly subresource?: string
  readonly query: URLSearchParams
}

/** What paths name, of those that were asked for last: a process renews the same Leases all the time. */
const known = new Map<string, Target>()
const mostKnown = 5000

/** Returns what a URL's path names, which nobody changes. */
export function targetOf(url: string): Target {
  const found = known.get(url)
  if (found !== undefined) return found
  const target = parsed(url)
  if (known.size >= mostKnown) known.clear()
  known.set(url, target)
  return target
}

function parsed(url: string): Target {
  const [whole = '', search] = url.split('?')
  const segments = whole.split('/').slice(1)
  const prefix = segments.splice(0, segments[0] === 'api' ? 2 : 3)
  const isNamespaced = segments[0] === 'namespaces' && segments.length > 2 && segments[2] !== 'status'
  const scope = isNamespaced ? segments.splice(0, 2) : []
  const [resource = '', name, subresource] = segments
  const list = `/${[...prefix, ...scope, resource].join('/')}`
  return {
    resource,
    list,
    query: new URLSearchParams(search),
    ...(scope[1] === undefined ? {} : { namespace: decodeURIComponent(scope[1]) }),
    ...(name === undefined ? {} : { name: decodeURIComponent(name), path: `${list}/${name}` }),
    ...(subresource === undefined ? {} : { subresource }),
  }
}

/** Returns the resource of an object's path. */
export function resourceOf(path: string): string {
  return path.slice(path.lastIndexOf('/', path.lastIndexOf('/') - 1) + 1, path.lastIndexOf('/'))
}

/** Returns the namespace of a path of an object or of a list; undefined: it has none, or is of all namespaces. */
export function namespaceOf(path: string): string | undefined {
  const at = path.indexOf(ofNamespace)
  const end = at < 0 ? -1 : path.indexOf('/', at + ofNamespace.length)
  return end < 0 ? undefined : path.slice(at + ofNamespace.length, end)
}

const ofNamespace = '/namespaces/'

const irregular: Readonly<Record<string, string>> = {
  NetworkPolicy: 'networkpolicies',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  Endpoints: 'endpoints',
}
const ofCluster: ReadonlySet<string> = new Set([
  'Namespace',
  'Node',
  'PersistentVolume',
  'StorageClass',
  'CSINode',
  'CSIDriver',
  'VolumeAttachment',
  'PriorityClass',
  'RuntimeClass',
  'ClusterRole',
  'ClusterRoleBinding',
  'CustomResourceDefinition',
  'CertificateSigningRequest',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'NodePool',
  'NodeClaim',
  'NodeOverlay',
  'AKSNodeClass',
])

/** Returns the path of the list of objects of a kind. Errors: the object does not say what it is. */
export function listPathOf({ apiVersion, kind, metadata }: Json): string {
  if (typeof apiVersion !== 'string' || typeof kind !== 'string')
    throw new Error('an object without apiVersion or kind')
  const plural = irregular[kind] ?? `${kind.toLowerCase()}${kind.endsWith('s') ? 'es' : 's'}`
  const prefix = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  if (ofCluster.has(kind)) return `${prefix}/${plural}`
  const { namespace = 'default' } = metadata as { readonly namespace?: string }
  return `${prefix}/namespaces/${encodeURIComponent(namespace)}/${plural}`
}

/** Paths of resources that Joiner does not know, but controllers do. */
export function pathOf(resource: ResourceName | 'jobs', name: string, namespace?: string): string {
  return resource === 'jobs'
    ? `/apis/batch/v1/namespaces/${namespace}/jobs/${name}`
    : resourcePath(resource, name, namespace)
}
