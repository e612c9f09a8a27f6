/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_completions SHELL FILE - writes the completions of bash, zsh or fish, out of the tables that
 * the command line is read by. Run by the build; not installed.
 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

/* With "=", where a value must follow; what may stand alone comes without. */
static void print_words(unsigned mask)
{
    for (size_t i = 0; i < KYMO_SWITCH_COUNT; i++) {
        const kymo_switch_info *info = &kymo_switch_table[i];
        if (info->commands & mask)
            printf(" --%s%s", info->name, info->value_name ? "=" : "");
    }
    for (size_t i = 0; mask == KYMO_IN_RECORD && i < KYMO_OPTION_COUNT; i++)
        printf(" --%s%s", kymo_option_table[i].name,
               kymo_option_table[i].flags & KYMO_OPTION_BARE ? "" : "=");
}

static void print_choices(const char *choices, char between)
{
    for (; *choices; choices++)
        putchar(*choices == '|' ? between : *choices);
}

static void print_bash(void)
{
    fputs("# bash completion of kymo; made from its tables of options\n"
          "_kymo() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} i words=\n"
          "    # bash takes words apart at \"=\".\n"
          "    local option=${COMP_WORDS[COMP_CWORD-1]} value=$cur\n"
          "    if [ \"$cur\" = = ]; then value=; else\n"
          "        [ \"$option\" = = ] && option=${COMP_WORDS[COMP_CWORD-2]} || option=\n"
          "    fi\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W \"help",
          stdout);
    for (size_t i = 0; i < kymo_command_count; i++)
        printf(" %s", kymo_commands[i].name);
    fputs("\" -- \"$cur\"))\n"
          "        return\n"
          "    fi\n"
          "    case $option in\n",
          stdout);
    for (size_t i = 0; i < KYMO_OPTION_COUNT; i++) {
        if (!kymo_option_table[i].choices)
            continue;
        printf("    --%s) COMPREPLY=($(compgen -W \"", kymo_option_table[i].name);
        print_choices(kymo_option_table[i].choices, ' ');
        fputs("\" -- \"$value\")); return ;;\n", stdout);
    }
    fputs("    --?*) COMPREPLY=($(compgen -f -- \"$value\")); return ;;\n"
          "    esac\n"
          "    case ${COMP_WORDS[1]} in\n",
          stdout);
    for (size_t i = 0; i < kymo_command_count; i++) {
        printf("    %s) words=\"", kymo_commands[i].name);
        print_words(kymo_commands[i].mask);
        fputs("\" ;;\n", stdout);
    }
    fputs("    esac\n"
          "    if [ \"${COMP_WORDS[1]}\" = record ]; then\n"
          "        for ((i = 2; i < COMP_CWORD; i++)); do\n"
          "            if [ \"${COMP_WORDS[i]}\" = -- ]; then\n"
          "                COMPREPLY=($(compgen -c -f -- \"$cur\"))\n"
          "                return\n"
          "            fi\n"
          "        done\n"
          "    fi\n"
          "    case $cur in\n"
          "    -*)\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
          "        [ \"${COMPREPLY[0]%=}\" = \"${COMPREPLY[0]}\" ] || compopt -o nospace\n"
          "        ;;\n"
          "    *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
          "    esac\n"
          "}\n"
          "complete -F _kymo kymo\n",
          stdout);
}

/* Text in single quotes, of which zsh and fish let none stand inside; without zsh's brackets. */
static void print_quoted(const char *text, int is_zsh)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs(is_zsh ? "'\\''" : "\\'", stdout);
        else if (is_zsh && strchr("[]:\\", *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void print_zsh_argument(const char *name, const char *value, const char *choices,
                               const char *help, int is_bare)
{
    printf("            '--%s%s[", name, value ? is_bare ? "=-" : "=" : "");
    print_quoted(help, 1);
    putchar(']');
    if (value) {
        fputs(is_bare ? "::" : ":", stdout);
        print_quoted(value, 1);
        putchar(':');
        if (choices) {
            putchar('(');
            print_choices(choices, ' ');
            putchar(')');
        } else if (strcmp(value, "FILE") == 0) {
            fputs("_files", stdout);
        }
    }
    fputs("' \\\n", stdout);
}

static void print_zsh(void)
{
    fputs("#compdef kymo\n"
          "# zsh completion of kymo; made from its tables of options\n"
          "_kymo() {\n"
          "    local -a commands=(\n",
          stdout);
    for (size_t i = 0; i < kymo_command_count; i++) {
        printf("        '%s:", kymo_commands[i].name);
        print_quoted(kymo_commands[i].summary, 1);
        fputs("'\n", stdout);
    }
    fputs("    )\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    shift words; (( CURRENT-- ))\n"
          "    case $words[1] in\n",
          stdout);
    for (size_t c = 0; c < kymo_command_count; c++) {
        unsigned mask = kymo_commands[c].mask;
        printf("    %s)\n        _arguments -s -S \\\n", kymo_commands[c].name);
        for (size_t i = 0; i < KYMO_SWITCH_COUNT; i++) {
            const kymo_switch_info *info = &kymo_switch_table[i];
            if (info->commands & mask)
                print_zsh_argument(info->name, info->value_name, NULL, info->help, 0);
        }
        for (size_t i = 0; mask == KYMO_IN_RECORD && i < KYMO_OPTION_COUNT; i++) {
            const kymo_option_info *info = &kymo_option_table[i];
            print_zsh_argument(info->name, info->value_name, info->choices, info->help,
                               (info->flags & KYMO_OPTION_BARE) != 0);
        }
        printf("            '*:: :%s' ;;\n", mask == KYMO_IN_RECORD ? "_normal" : "_files");
    }
    fputs("    esac\n"
          "}\n"
          "_kymo \"$@\"\n",
          stdout);
}

static void print_fish_option(const char *command, char letter, const char *name, const char *value,
                              const char *choices, const char *help)
{
    printf("complete -c kymo -n '__fish_seen_subcommand_from %s' -l %s", command, name);
    if (letter)
        printf(" -s %c", letter);
    if (value)
        fputs(" -r", stdout);
    if (choices) {
        fputs(" -f -a '", stdout);
        print_choices(choices, ' ');
        putchar('\'');
    }
    fputs(" -d '", stdout);
    print_quoted(help, 0);
    fputs("'\n", stdout);
}

static void print_fish(void)
{
    fputs("# fish completion of kymo; made from its tables of options\n", stdout);
    for (size_t c = 0; c < kymo_command_count; c++) {
        const char *command = kymo_commands[c].name;
        unsigned mask = kymo_commands[c].mask;
        printf("complete -c kymo -f -n __fish_use_subcommand -a %s -d '", command);
        print_quoted(kymo_commands[c].summary, 0);
        fputs("'\n", stdout);
        for (size_t i = 0; i < KYMO_SWITCH_COUNT; i++) {
            const kymo_switch_info *info = &kymo_switch_table[i];
            if (info->commands & mask)
                print_fish_option(command, info->letter, info->name, info->value_name, NULL,
                                  info->help);
        }
        for (size_t i = 0; mask == KYMO_IN_RECORD && i < KYMO_OPTION_COUNT; i++) {
            const kymo_option_info *info = &kymo_option_table[i];
            print_fish_option(command, 0, info->name,
                              info->flags & KYMO_OPTION_BARE ? NULL : info->value_name,
                              info->choices, info->help);
        }
    }
}

int main(int argc, char **argv)
{
    const char *shell = argc > 2 ? argv[1] : "";
    if (argc < 3 || !freopen(argv[2], "w", stdout))
        return 2;
    if (strcmp(shell, "bash") == 0)
        print_bash();
    else if (strcmp(shell, "zsh") == 0)
        print_zsh();
    else if (strcmp(shell, "fish") == 0)
        print_fish();
    else
        return 2;
    return fflush(stdout) == 0 ? 0 : 1;
}
