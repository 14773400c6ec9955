import { Icon } from './icon.tsx'

/** What could not be read, with the remedy. */
export function Notices({ texts }: { readonly texts: readonly string[] }) {
  if (texts.length === 0) return null
  return (
    <ul class="notices" aria-label="What is missing">
      {texts.map((text) => (
        <li key={text}>
          <Icon name="alert" />
          {text}
        </li>
      ))}
    </ul>
  )
}
