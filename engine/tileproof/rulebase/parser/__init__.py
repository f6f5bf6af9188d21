"""Readers of the declarations of rule files, by grammar/rules.lark."""
