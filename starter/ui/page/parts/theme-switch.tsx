import { type Theme, theme } from '../state/theme.ts'
import { Icon } from './icon.tsx'

const next: Readonly<Record<Theme, Theme>> = { auto: 'light', light: 'dark', dark: 'auto' }
const names: Readonly<Record<Theme, string>> = { auto: "the system's", light: 'light', dark: 'dark' }

export function ThemeSwitch() {
  const { value } = theme
  return (
    <button
      type="button"
      class="quiet round"
      aria-label={`Colours: ${names[value]}. Change to ${names[next[value]]}.`}
      title={`Colours: ${names[value]}`}
      onClick={() => {
        theme.value = next[value]
      }}
    >
      <Icon name={value} />
    </button>
  )
}
