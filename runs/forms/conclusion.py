from __future__ import annotations

from django import forms

from runs.models import Campaign


class ConclusionForm(forms.ModelForm):
    """What a campaign says so far, in a person's words."""

    class Meta:
        model = Campaign
        fields = ["conclusion"]
        widgets = {"conclusion": forms.Textarea(attrs={"rows": 3, "maxlength": 4000})}
        labels = {"conclusion": "Conclusion so far"}
        help_texts = {"conclusion": "Markdown. It stays a draft."}

    def clean_conclusion(self) -> str:
        text: str = self.cleaned_data["conclusion"]
        if len(text) > 4000:
            raise forms.ValidationError("Keep it under 4,000 characters; notes hold the rest.")
        return text
